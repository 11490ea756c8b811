"""Reads what servers read and send from the source of their packages, which are not imported: that would need what they require."""

import ast
from pathlib import Path


def fields_of(file: Path, names: list[str]) -> dict[str, list[str]]:
    """The fields of each class of a module."""
    tree = ast.parse(file.read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return {
        name: sorted(each.target.id for each in classes[name].body if isinstance(each, ast.AnnAssign))
        for name in names
    }


def routes_of(file: Path, routes: list[str]) -> list[str]:
    """Those of the routes that a module names."""
    tree = ast.parse(file.read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return [route for route in routes if route in texts]
