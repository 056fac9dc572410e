"""What programs use beside kernels."""
