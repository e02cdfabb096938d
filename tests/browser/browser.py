"""A real browser that opens a page from disk: how to look at it, and what to wait for."""

import json
import shutil
from base64 import b64decode
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

SECONDS = 60
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def start():
    """A browser that keeps what it asks the network for, and what it complains about."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        raise RuntimeError("These tests need a browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(chromedriver))


class Page:
    """A page in the browser at a width and in a theme."""

    def __init__(self, driver, file, *, width=1400, theme="light", height=900):
        self.driver, self.file = driver, file
        driver.get("about:blank")
        self.logs()
        self.size(width, height)
        self.theme(theme)
        driver.get(file.as_uri())
        self.wait(lambda: self.body("ready") == "yes")
        self.see_all()

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(lambda _: condition())

    def size(self, width, height=900):
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def theme(self, theme, **features):
        chosen = {"prefers-color-scheme": theme} | features
        listed = [{"name": name, "value": value} for name, value in chosen.items()]
        self.command("Emulation.setEmulatedMedia", media="", features=listed)

    def body(self, name):
        return self.run("return document.body.dataset[arguments[0]]", name)

    @property
    def facts(self):
        return json.loads(self.texts("#facts")[0])

    @property
    def charts(self):
        """The facts of all charts on the page, in their order."""
        chosen = self.run("return document.getElementById('study-select').selectedIndex")
        facts = self.facts
        sections = facts["overview"] + facts["studies"][chosen]["sections"] + facts.get("closing", [])
        return [chart for section in sections for chart in section["charts"]]

    def press(self, selector, *keys):
        self.find(selector).send_keys(*keys)

    def choose(self, study):
        """Another data set, from the list where there is one."""
        if study:
            Select(self.find("#study-select")).select_by_index(study)

    def click(self, node, part):
        """In the middle of the height; `part` of the width to the right of the middle."""
        shift = round(part * node.size["width"])
        ActionChains(self.driver).move_to_element_with_offset(node, shift, 0).click().perform()

    def labels(self):
        """The text alternatives of all charts."""
        named = "figure.querySelector('[role=img]') ?? figure.querySelector('.scroll')"
        figures = "[...document.querySelectorAll('figure')]"
        return self.run(f"return {figures}.map((figure) => ({named}).getAttribute('aria-label'))")

    def summaries(self, index):
        """What they must be."""
        return [
            chart["summary"]
            if isinstance(chart["summary"], str)
            else chart["summary"][0 if chart.get("fixed") else index]
            for chart in self.charts
        ]

    def open_details(self):
        """All tables of numbers."""
        self.run("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        self.wait(lambda: len(self.all("details table")) >= len(self.all("details")))

    def opened(self):
        """For which diversities the open tables are."""
        return {details.get_attribute("data-index") for details in self.all("details")}

    def top_of(self, selector):
        return self.run(
            "return document.querySelector(arguments[0]).getBoundingClientRect().top", selector
        )

    def bottom_of_bar(self):
        """How far down the part that stays reaches: the whole bar, on a phone only its controls."""
        return self.run(
            "const bar = document.getElementById('bar');"
            "const whole = getComputedStyle(bar).position === 'sticky';"
            "const stays = whole ? bar : bar.querySelector('.controls');"
            "const { height, bottom } = stays.getBoundingClientRect();"
            "return height ? bottom : Infinity"
        )

    def sideways(self):
        """By how many pixels the page is wider than the window."""
        root = "document.documentElement"
        return self.run(f"return {root}.scrollWidth - {root}.clientWidth")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector, inside=None):
        """What elements say, hidden or not."""
        nodes = "[...(arguments[1] ?? document).querySelectorAll(arguments[0])]"
        return self.run(f"return {nodes}.map((node) => node.textContent)", selector, inside)

    def see_all(self):
        """Scroll to every chart until it is drawn for the diversity of the slider, at this width."""
        for figure in self.all("figure"):
            self.wait(lambda figure=figure: self.is_drawn_in_sight(figure))
        self.run("scrollTo({top: 0, behavior: 'instant'})")

    def is_drawn_in_sight(self, figure):
        """Scroll there each time it is asked: charts that are drawn above it may move it away."""
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", figure)
        return self.is_drawn(figure)

    def is_drawn(self, figure):
        return self.run(
            "const width = arguments[0].querySelector('.plot')?.clientWidth ?? 0;"
            "const paper = getComputedStyle(document.documentElement).getPropertyValue('--card').trim();"
            "return arguments[0].dataset.drawn === `${document.body.dataset.index} ${width} ${paper}`",
            figure,
        )

    def drawings(self):
        """What each chart looks like at this diversity: its drawing, or its pictures."""
        self.see_all()
        return self.run(
            "return [...document.querySelectorAll('figure')].map((figure) =>"
            " [...figure.querySelectorAll('.panel > .plot > svg, .above, td img, li img')]"
            ".map((node) => node.src ?? node.innerHTML).join())"
        )

    def screenshot(self, file):
        """The whole page as people would scroll through it."""
        height = self.run("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.run("return innerWidth"), "height": height, "scale": 1}
        self.save(file, "Page.captureScreenshot", captureBeyondViewport=True, clip=clip)

    def save(self, file, command, **parameters):
        file.write_bytes(b64decode(self.command(command, **parameters)["data"]))

    def logs(self):
        """Complaints of the browser and addresses that it asked for, since the last look."""
        complaints = [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        entries = self.driver.get_log("performance")
        events = [json.loads(entry["message"])["message"] for entry in entries]
        asked = [each["params"] for each in events if each["method"] == "Network.requestWillBeSent"]
        addresses = [each["request"]["url"] for each in asked]
        return complaints, [address for address in addresses if not address.startswith("data:")]

    def violations(self):
        """What axe-core finds serious or critical."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        grave = [each for each in found["violations"] if each["impact"] in {"serious", "critical"}]
        return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in grave]
