"""Files that are made from models: written, or compared with what is committed."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def generate(made: Callable[[Path], Mapping[Path, str]], arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` report which of them differ from the models.

    `made` returns every generated file below the repository's root, and its required content.
    """
    parser = argparse.ArgumentParser(description="Generate the CustomResourceDefinition from the models.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; 1 if a file differs")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the repository's root; default: here")
    options = parser.parse_args(arguments)
    texts = made(options.root)
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path])
        sys.stderr.write(f"{path} {'differs from the models: run `make crds`' if options.check else 'written'}\n")
    return 1 if stale and options.check else 0
