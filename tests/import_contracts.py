"""The import contract this project needs and import-linter lacks: an allow-list of direct imports.

Modules are named by patterns: `*` stands for anything, dots included, and a name stands for its package
too. Whatever a module of `importers` (less `except_importers`) imports must, if it is one of `imported`, be
one of `allowed`. The contracts themselves are in pyproject.toml, one for each line of the layers.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class AllowContract(Contract):
    """Kept when every direct import in question is allowed."""

    type_name = "allow"

    importers: Any = fields.ListField(subfield=fields.StringField())
    except_importers: Any = fields.ListField(subfield=fields.StringField(), required=False, default=())
    imported: Any = fields.ListField(subfield=fields.StringField())
    allowed: Any = fields.ListField(subfield=fields.StringField(), required=False, default=())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collect the imports that are not allowed, as lines `importer imports imported`."""
        broken = [
            f"{importer} imports {imported}"
            for importer in sorted(graph.modules)
            if _matches(importer, self.importers) and not _matches(importer, self.except_importers)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if _matches(imported, self.imported) and not _matches(imported, self.allowed)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the lines."""
        lines: Sequence[str] = check.metadata["broken"]
        for line in lines:
            output.print_error(line)


def _matches(module: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(module, pattern) or fnmatchcase(module, f"{pattern}.*") for pattern in patterns)
