"""Values and notation: CPU lists, IRQ names, units, text cells, formulas, error sentences.

Takes and gives plain values. Nothing here reads the host, the clock or a configuration file. A
newcomer adds here what two higher folders need and what is about notation only.
"""
