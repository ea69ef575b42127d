"""Counting in the kernel with BPF.

`btf` reads names of enumerations of the running kernel, `call` creates maps and loads programs, and
`drops` is the only program of nettop. Programs and maps belong to this process: the kernel frees
them when it ends. The program is loaded on request only.
"""
