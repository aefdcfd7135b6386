"""Arguments of command lines and files: lists, prices, and files to read and to write."""

from __future__ import annotations

import errno
import gzip
import io
import math
import shutil
import sys
import zlib
from typing import TYPE_CHECKING, Final

from evenkeel.core.errors import UserError
from evenkeel.llm.price import ModelPrice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


# Errors where a folder may not be changed, or a file in it is mounted: the file itself may be written.
_FIXED: Final = frozenset({errno.EACCES, errno.EBUSY, errno.EPERM, errno.EROFS})
_GZIP: Final = b"\x1f\x8b"
LARGEST_UNPACKED_BYTES: Final = 256 << 20
"""A compressed file may hold a thousand times its size."""


class InputError(UserError, ValueError):
    """An option, a file or its content cannot be used. The message says which, and what to do."""


def read_text(path: Path) -> str:
    """The text of a file, or of standard input for "-"; compressed by gzip or not, without byte order mark.

    Raises: InputError if it cannot be read, is not UTF-8, or unpacks to more than 256 MiB.
    """
    where = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        # By content and not by name: what a pipe or a browser saved has any name.
        content = _unpacked(data, path) if data.startswith(_GZIP) else data
        # Editors on Windows begin files with a byte order mark.
        return content.decode("utf-8-sig")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: is not a complete gzip file; write it again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _unpacked(packed: bytes, path: Path) -> bytes:
    with gzip.open(io.BytesIO(packed)) as file:
        # One byte more tells a file that is too large from one that just fits.
        data = file.read(LARGEST_UNPACKED_BYTES + 1)
    if len(data) > LARGEST_UNPACKED_BYTES:
        raise InputError(
            f"{path}: unpacks to more than {LARGEST_UNPACKED_BYTES >> 20} MiB; split it into smaller files"
        )
    return data


def check_writable(targets: Iterable[Path | None]) -> None:
    """Make sure, before anything is spent, that results can be written.

    Raises: InputError for a target in a folder that does not exist, or that is a folder.
    """
    # Said before the first call: a report that cannot be written is found out after the money is spent.
    for target in targets:
        if target is not None and not target.absolute().parent.is_dir():
            raise InputError(f"{target}: there is no folder {target.parent}")
        if target is not None and target.is_dir():
            raise InputError(f"{target}: is a folder; name a file")


def write_reports(reports: Iterable[tuple[Path | None, Callable[[], str | bytes]]]) -> list[Path]:
    """Write each report whose file is named, and return these files.

    Raises: InputError for one that cannot be written.
    """
    targets = []
    for target, rendered in reports:
        if target is None:
            continue
        write_file(target, rendered())
        targets.append(target)
    return targets


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file of lines; compressed if its name ends in .gz.

    Raises: InputError if it cannot be written.
    """
    data = "".join(f"{line}\n" for line in lines).encode()
    # Without the time: equal lines are equal files.
    write_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_file(path: Path, content: str | bytes) -> None:
    """Write all of a file or nothing: a full disk cuts no file, and leaves the one that was there.

    Raises: InputError if it cannot be written.
    """
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    beside = path.with_name(f"{path.name}.new")
    try:
        # A link or a pipe, as /dev/stdout is, must stay one.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_bytes(data)
            return
        try:
            beside.write_bytes(data)
            if path.exists():
                shutil.copymode(path, beside)
            beside.replace(path)
        except OSError as error:
            # Where only the file itself may be written, it is.
            if error.errno not in _FIXED or not path.exists():
                raise
            path.write_bytes(data)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def words(text: str | None) -> tuple[str, ...]:
    """The parts of a list with commas; () for None."""
    words = []
    for word in (text or "").split(","):
        if word.strip():
            words.append(word.strip())
    return tuple(words)


def named_price(text: str) -> tuple[str, ModelPrice]:
    """Read "MODEL=0.15/0.60", US dollars per million prompt and completion tokens.

    The name may hold equals signs.

    Raises: InputError if it is not written so.
    """
    model, _, price = text.rpartition("=")
    asked, _, answered = price.partition("/")
    try:
        input_usd, output_usd = float(asked), float(answered)
    except ValueError:
        input_usd = output_usd = math.nan
    # "nan" and "inf" are numbers to Python, and would make every sum of dollars one of them.
    if model and 0 <= input_usd < math.inf and 0 <= output_usd < math.inf:
        return model, ModelPrice(input_usd, output_usd)
    raise InputError(
        f'--price: "{text}" is not a price; write it like MODEL=0.15/0.60, US dollars per million prompt and '
        "completion tokens"
    )
