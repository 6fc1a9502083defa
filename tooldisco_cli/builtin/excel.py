"""Excel workbooks (.xlsx)."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO

from tooldisco_cli.builtin import places, rows
from tooldisco_cli.builtin.context import Context

if TYPE_CHECKING:
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

MAX_BYTES = 50_000_000
MAX_UNPACKED = 400_000_000
_MAX_RATIO = 200
_MAX_PARTS = 5000
_MAX_COLUMNS = 2000
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def read_excel(
    *, path: str, sheet: str | None = None, header_row: int = 1, max_rows: int = 200, context: Context
) -> dict[str, Any]:
    """Return rows of a sheet: records keyed by the header row, or lists when ``header_row`` is 0.

    Raises ValueError for what is no workbook, unpacks to too much, or lacks the sheet.
    """
    import defusedxml  # noqa: F401 - with it installed openpyxl refuses entity bombs
    import openpyxl

    with places.open_file(path, context, max_bytes=MAX_BYTES) as file:
        _check_archive(file, path)
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        except Exception as error:
            raise ValueError(f"{path} is no Excel workbook (.xlsx): {error}") from None
        try:
            names = [page.title for page in book.worksheets]
            if sheet is not None and sheet not in names:
                raise ValueError(f"{path} has no sheet {sheet!r}; it has {', '.join(names)}")
            page = book[sheet] if sheet else book.worksheets[0]
            if header_row and page.max_row is not None and header_row > page.max_row:
                raise ValueError(f"the sheet {page.title!r} has {page.max_row} rows, so no header in {header_row}")
            found = page.iter_rows(min_row=max(header_row, 1), max_col=_MAX_COLUMNS, values_only=True)
            columns = _columns(next(found, ())) if header_row else []
            answer: list[Any] = []
            more = False
            for row in found:
                values = [rows.plain(value) for value in row]
                while values and values[-1] is None:
                    values.pop()
                if not values:
                    continue
                if len(answer) == max_rows:
                    more = True
                    break
                answer.append(_record(columns, values) if header_row else values)
            return {
                "sheet": page.title,
                "sheets": names,
                "columns": columns,
                "rows": answer,
                "row_count": len(answer),
                "more": more,
            }
        finally:
            book.close()


def write_excel(
    *,
    path: str,
    columns: list[str],
    rows: list[list[Any]],
    sheet: str = "Sheet1",
    context: Context,
) -> dict[str, Any]:
    """Write a workbook with one sheet; texts are never formulas. Raises ValueError for a row with too many values."""
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    wide = next((number for number, row in enumerate(rows, 1) if len(row) > len(columns)), 0)
    if wide:
        raise ValueError(f"row {wide} has {len(rows[wide - 1])} values, but there are {len(columns)} columns")
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet(sheet)
    page.freeze_panes = "A2"
    header = []
    for name in columns:
        cell = _text_cell(page, name)
        cell.font = Font(bold=True)
        header.append(cell)
    page.append(header)
    escaped = 0
    for row in rows:
        cells = []
        for value in row:
            if isinstance(value, str):
                escaped += value.startswith(_FORMULA_STARTS)
                cells.append(_text_cell(page, value))
            else:
                cells.append(WriteOnlyCell(page, value=value))
        page.append(cells)
    data = io.BytesIO()
    book.save(data)
    place = places.write_new(path, data.getvalue(), context)
    return {"path": places.shown(place, context), "sheet": sheet, "row_count": len(rows), "escaped_texts": escaped}


def _text_cell(page: WriteOnlyWorksheet, text: str) -> Any:
    """Return a cell that is text whatever it begins with: no formula now, nor when somebody edits or exports it."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    cell = WriteOnlyCell(page, value="")
    cell.value = ILLEGAL_CHARACTERS_RE.sub("�", text[:32767])
    cell.data_type = "s"
    cell.quotePrefix = text.startswith(_FORMULA_STARTS)
    return cell


def _check_archive(file: BinaryIO, path: str) -> None:
    """Refuse a workbook that would unpack to far more than it is (a zip bomb), by the sizes it declares.

    zipfile reads no more of a part than is declared, so the declared sizes bind.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise ValueError(f"{path} is no Excel workbook (.xlsx): {error}") from None
    unpacked = sum(part.file_size for part in parts)
    packed = sum(part.compress_size for part in parts)
    if len(parts) > _MAX_PARTS or unpacked > MAX_UNPACKED or unpacked > max(packed, 50_000) * _MAX_RATIO:
        raise ValueError(f"{path} unpacks to {unpacked:,} bytes in {len(parts)} parts; refused as a likely zip bomb")
    file.seek(0)


def _columns(header: tuple[Any, ...]) -> list[str]:
    values = list(header)
    while values and values[-1] in {None, ""}:
        values.pop()
    names: list[str] = []
    for position, value in enumerate(values, 1):
        wanted = str(value).strip() if value not in {None, ""} else f"column_{position}"
        number, free = 2, wanted
        while free in names:
            free, number = f"{wanted}_{number}", number + 1
        names.append(free)
    return names


def _record(columns: list[str], values: list[Any]) -> dict[str, Any]:
    record = dict.fromkeys(columns)
    for position, value in enumerate(values):
        record[columns[position] if position < len(columns) else f"column_{position + 1}"] = value
    return record
