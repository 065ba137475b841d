"""Take the pictures of the boards' page for the docs: `python docs/images/take_board.py SITE/index.html` (needs Chromium and its driver).

Writes board.png, board-dark.png, board-scatter.png, board-submission.png and board-phone.png beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from selenium import webdriver
from take import browser, emulate, save


def main(page: Path, out: Path) -> None:
    with browser() as driver:
        shots(driver, page.resolve().as_uri(), out)


def shots(driver: webdriver.Chrome, address: str, out: Path) -> None:
    emulate(driver, 1280, 1100)
    save(driver, f"{address}#pocket-sop", out / "board.png")
    save(
        driver,
        address,
        out / "board-scatter.png",
        then="document.querySelector('#scatter').scrollIntoView({behavior: 'instant'})",
    )
    link = driver.execute_script("return document.querySelector('.board .name a')?.href")
    emulate(driver, 1280, 1100, dark=True)
    save(driver, f"{address}#sop-androidcontrol", out / "board-dark.png")
    emulate(driver, 390, 844, scale=2)
    save(
        driver,
        f"{address}#pocket-sop",
        out / "board-phone.png",
        then="document.querySelector('.picker').scrollIntoView({behavior: 'instant'})",
    )
    if link:
        emulate(driver, 1280, 1100)
        save(driver, link, out / "board-submission.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
