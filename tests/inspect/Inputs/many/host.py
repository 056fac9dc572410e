"""Host code, whose mistakes are not those of a kernel."""
print("x"
