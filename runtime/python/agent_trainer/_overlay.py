"""Files of the workspace that are read as if they had another text: each has a copy that is read in its place."""

from __future__ import annotations

import builtins
import io
import os
import pathlib
import tokenize
from importlib.machinery import SourceFileLoader
from typing import Any, Mapping, Optional


def install(copies: Mapping[str, str]) -> None:
    """From now on imports, `open` and `pathlib` read the copies. Bytecode of these files is neither read nor written."""
    if not copies:
        return
    by_path = {_real(path): copy for path, copy in copies.items()}
    names = {os.path.basename(path) for path in by_path}  # most files are told apart by their name alone

    def copy_of(file: Any) -> Optional[str]:
        if not isinstance(file, (str, bytes, os.PathLike)):
            return None
        path = os.path.normcase(os.fsdecode(file))
        return by_path.get(_real(path)) if os.path.basename(path) in names else None

    original_open = io.open

    def open_file(file: Any, mode: str = "r", buffering: int = -1, encoding: Optional[str] = None, errors: Optional[str] = None,
                  newline: Optional[str] = None, closefd: bool = True, opener: Any = None) -> Any:
        copy = copy_of(file) if isinstance(mode, str) and not set(mode) & set("wax+") else None
        if copy is None:
            return original_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        return original_open(copy, mode, buffering, encoding, errors, newline)

    _replace(builtins, open=open_file)
    _replace(io, open=open_file, open_code=lambda path, original=io.open_code: original(copy_of(path) or path))
    _replace(tokenize, open=lambda path, original=tokenize.open: original(copy_of(path) or path))  # source lines of tracebacks
    accessor = getattr(pathlib, "_NormalAccessor", None)
    if getattr(accessor, "open", None) is original_open:  # Python 3.10 keeps one of its own
        _replace(accessor, open=staticmethod(open_file))

    get_data, path_stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_copied_data(self: SourceFileLoader, path: str) -> bytes:
        return get_data(self, copy_of(path) or path)

    def stats_without_copied(self: SourceFileLoader, path: str) -> Mapping[str, Any]:
        if copy_of(path) is not None:
            raise OSError(f"{path} is overlaid")  # without a date the loader leaves bytecode alone
        return path_stats(self, path)

    _replace(SourceFileLoader, get_data=get_copied_data, path_stats=stats_without_copied)


def _replace(holder: Any, **replacements: Any) -> None:
    for name, replacement in replacements.items():
        setattr(holder, name, replacement)


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
