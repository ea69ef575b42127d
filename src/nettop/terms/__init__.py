"""Values and notation: CPU lists, IRQ names, units, text cells, formulas, error sentences.

Takes and returns plain values. Nothing here reads the host, the clock or a configuration file. A
module belongs here if it is about notation only and several higher folders need it.
"""
