"""Counting inside the kernel, with nothing left behind.

`btf` reads the kernel's own names of its numbers; `call` makes maps and loads programs; `drops` is
the one program nettop has. What is loaded belongs to this process: it ends with it, however it
ends. It is loaded only when somebody asks for it.
"""
