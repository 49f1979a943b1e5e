"""The parts of a kernel call: blocks, index maps, grids, memory spaces, parameters of compilers."""
