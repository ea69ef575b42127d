"""One module for each kind of result: `report(document) -> Report`. The file name is the kind."""
