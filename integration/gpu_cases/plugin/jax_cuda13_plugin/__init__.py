"""A stand-in for the package with the kernels of the CUDA plugin.

Its descriptions of calls are the arguments that they are made from, and its sizes of buffers
differ, so that both sides' calls can be compared on machines without a GPU.
"""
