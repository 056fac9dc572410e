def kernel_probes(options, folder):
    return []
