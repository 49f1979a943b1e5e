"""Functions that the bodies of kernels call: control flow, buffers, copies, pipelines, printing."""
