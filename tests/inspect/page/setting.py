"""What the tests of the page share: pages of reports in a browser, and how to look at them."""
import os

import reports

SIZES = [(1280, 800), (1920, 1080)]


class Setting:
    """Pages of reports, made once each."""
    def __init__(self, browser, folder, assets):
        self.browser, self.folder, self.assets, self.made = browser, folder, assets, {}

    def open(self, name, fragment="", size=SIZES[0], dark=False):
        if name not in self.made:
            made = {"one": reports.report, "long": lambda: reports.report(10000), "empty": reports.empty, "ran": reports.ran, "no remarks": lambda: reports.report(remarks=[]), "moved": lambda: {**reports.report(), **{name: reports.moved(reports.report()[name], 100) for name in ("sources", "stages", "findings")}}, "two": lambda: [reports.report(), reports.other()], "wide": reports.wide}[name]()
            self.made[name] = os.path.join(self.folder, name + ".html")
            reports.write_page(self.assets, made, self.made[name])
        page = self.browser.open(f"file://{self.made[name]}#{fragment}", *size, dark)
        page.until("'ready' in document.documentElement.dataset")
        page.settle()
        return page


def same(found, wanted, what=""):
    assert found == wanted, f"{what}: {found!r}, not {wanted!r}"


def linked(page, label):
    """Lines of a pane, as written in its gutter, that are highlighted."""
    return page.value(f"""[...document.querySelectorAll('[aria-label="{label}"] .row.linked')].map(row => Number(row.querySelector('.no').textContent)).sort((a, b) => a - b)""")


def row(label, line):
    """A selector of the text of a line; lists are short in these reports, so that all rows are there."""
    return f'[aria-label="{label}"] [aria-posinset="{line}"] .text'


def lines_of(at, line):
    return [index + 1 for index, place in enumerate(at) if place and place[1] == line]


def check_fits(page, name):
    assert page.value("document.scrollingElement.scrollWidth <= innerWidth && document.scrollingElement.scrollHeight <= innerHeight"), f"{name}: the page scrolls as a whole"
    same(page.value("[...document.querySelectorAll('.tools')].filter(tools => tools.scrollWidth > tools.clientWidth + 1 && tools.clientWidth).map(tools => tools.textContent)"), [], f"{name}: tools that are cut")
