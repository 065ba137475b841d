"""ScreenSpot-v2 and ScreenSpot-Pro: trajectories of one click, with the box of its target.

Formats: OS-Copilot/ScreenSpot-v2 (`screenspot_{mobile,desktop,web}_v2.json`, lists of `img_filename`, `instruction`, `data_type`, `data_source` and `bbox` = [x, y, width, height] in
pixels; pictures in `screenspotv2_image.zip`); likaixin/ScreenSpot-Pro (`annotations/*.json`, lists of `id`, `img_filename`, `img_size`, `instruction`, `instruction_cn`, `ui_type`,
`group`, `platform`, `application` and `bbox` = [x1, y1, x2, y2] in pixels; pictures in `images/`), as likaixin2000/ScreenSpot-Pro-GUI-Grounding d66d7a8 `eval_screenspot_pro.py` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from sopbench.datacheck import Watch
from sopbench.datasets.converted import Converted, require_folder
from sopbench.datasets.loose import Item, Pictures, box_of, read_annotations, short, text_of, write_items
from sopbench.datasets.output import Skipped, flat_name, step_object, trajectory_object
from sopbench.errors import DataError, UsageError
from sopbench.geometry import Box, Size

RULES: Final = 1
V2_FILES: Final = tuple(f"screenspot_{platform}_v2.json" for platform in ("mobile", "desktop", "web"))
V2_ARCHIVE: Final = "screenspotv2_image.zip"
Language: TypeAlias = Literal["en", "cn"]


def convert_screenspot(
    folder: Path,
    out: Path,
    *,
    language: Language = "en",
    limit: int | None = None,
    skip_faulty: bool = False,
    space_check: bool = True,
    checking: Watch = lambda what, done, total: None,
) -> Converted:
    """v2 or Pro, whichever `folder` holds. `limit` takes the first samples; `language` is that of Pro's instructions."""
    require_folder(folder, "--from")
    v2 = [folder / name for name in V2_FILES if (folder / name).is_file()]
    pro = sorted((folder / "annotations").glob("*.json"))
    if bool(v2) == bool(pro):
        found = "both are" if v2 else "neither is"
        raise DataError(
            f"--from {folder}: should hold ScreenSpot-v2 ({', '.join(V2_FILES)}) or ScreenSpot-Pro (annotations/*.json); {found} there"
        )
    if v2 and language != "en":
        raise UsageError("--language cn: only ScreenSpot-Pro has Chinese instructions")
    if v2 and len(v2) < len(V2_FILES):
        lacking = ", ".join(name for name in V2_FILES if not (folder / name).is_file())
        raise DataError(f"--from {folder}: {lacking} is missing; its results would not be comparable")
    archives = [folder / V2_ARCHIVE] if v2 and (folder / V2_ARCHIVE).is_file() else []
    pictures = Pictures([folder] if v2 else [folder / "images"], archives if v2 else [], out)
    if not len(pictures):
        raise DataError(f"--from {folder}: there are no pictures. `sopbench data pull` gets them")
    facts = {
        "dataset": "screenspot-v2" if v2 else "screenspot-pro",
        "rules": RULES,
        "language": language,
        "point": "centre of the target's box",
    }
    rows = _v2_rows(v2) if v2 else _pro_rows(pro, language)
    items = _items(rows, pictures, limit, skip_faulty)
    return write_items(
        out, items, pictures, facts, [*v2, *pro, *pictures.archives], space_check=space_check, watch=checking
    )


Row: TypeAlias = tuple[str, Mapping[str, Any], str]
"""(where, the sample in one form for both, what is wrong with it): `box` in x1, y1, x2, y2, `id`, `goal`, `picture`, `size`, `tags`."""


def _items(rows: Iterator[Row], pictures: Pictures, limit: int | None, skip_faulty: bool) -> Iterator[Item | Skipped]:
    taken = 0
    for where, row, wrong in rows:
        if limit is not None and taken >= limit:
            return
        try:
            if wrong:
                raise DataError(wrong)
            item = _item(row, pictures)
        except DataError as error:
            if not skip_faulty:
                raise DataError(f"{where}: {error} (--skip-faulty leaves such samples out)") from error
            yield Skipped(where, str(row.get("id", "?")), str(error))
            continue
        taken += 1
        yield item


def _item(row: Mapping[str, Any], pictures: Pictures) -> Item:
    picture = pictures.get(row["picture"])
    size = pictures.size(picture)
    if row["size"] is not None and row["size"] != size:
        raise DataError(f"the picture is {size}, the annotation says {row['size']}")
    box: Box = row["box"]
    content = {"action": "click", "coordinate": short((box.centre.x, box.centre.y))}
    name = flat_name(row["picture"])
    step = step_object(content, name, boxes=[short(box.as_list())], check={**content, "candidate_source": "annotation"})
    return Item(row["id"], trajectory_object(row["id"], row["goal"], [step], row["tags"]), {name: picture})


def _v2_rows(files: list[Path]) -> Iterator[Row]:
    for path in files:
        platform = path.name.split("_")[1]
        for index, sample in _samples(path):
            where = f"{path.name}, sample {index}"
            ident = f"{platform}-{index:04}"
            try:
                yield (
                    where,
                    {
                        "id": ident,
                        "goal": text_of(sample, "instruction"),
                        "picture": text_of(sample, "img_filename"),
                        "size": None,
                        "box": box_of(sample.get("bbox"), lambda b: Box(b[0], b[1], b[0] + b[2], b[1] + b[3])),
                        "tags": {
                            "platform": platform,
                            "type": text_of(sample, "data_type"),
                            "group": text_of(sample, "data_source", due=False),
                        },
                    },
                    "",
                )
            except DataError as error:
                yield where, {"id": ident}, str(error)


def _pro_rows(files: list[Path], language: Language) -> Iterator[Row]:
    goal = "instruction" if language == "en" else "instruction_cn"
    for path in files:
        for index, sample in _samples(path):
            where = f"{path.name}, sample {index}"
            ident = str(sample.get("id", "?"))[:100]
            try:
                yield (
                    where,
                    {
                        "id": text_of(sample, "id"),
                        "goal": text_of(sample, goal),
                        "picture": text_of(sample, "img_filename"),
                        "size": _size(sample.get("img_size")),
                        "box": box_of(sample.get("bbox"), lambda b: Box(*b)),
                        "tags": {
                            "platform": text_of(sample, "platform"),
                            "type": text_of(sample, "ui_type"),
                            "group": text_of(sample, "group"),
                            "application": text_of(sample, "application", due=False),
                        },
                    },
                    "",
                )
            except DataError as error:
                yield where, {"id": ident}, str(error)


def _samples(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    value = read_annotations(path)
    if not isinstance(value, list) or not all(isinstance(sample, dict) for sample in value):
        raise DataError(f"{path} should be a list of samples, as published")
    yield from enumerate(value)


def _size(value: Any) -> Size:
    if not isinstance(value, list) or len(value) != 2 or not all(type(v) is int and 0 < v < 100_000 for v in value):
        raise DataError(f"`img_size` is {str(value)[:60]}")
    return Size(*value)
