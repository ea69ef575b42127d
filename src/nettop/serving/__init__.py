"""The screen in a browser: who may enter (`door`), what is answered (`site`), one screen."""
