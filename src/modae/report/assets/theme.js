// Colours: those of the style sheet, those of values, and those of lines and classes.

// Equal steps of lightness (OKLab). Each map starts at the background, so that "nothing" looks like nothing.
const LIGHT_MAP = ["#f8fbf8", "#c3e8d7", "#89d2c8", "#4fb8c8", "#2b99c5", "#1f79b7", "#1e5ba2", "#1c3f87", "#152569"];
const DARK_MAP = ["#1b1e24", "#1d3358", "#204b7f", "#1d6a96", "#148ba1", "#29aca4", "#65ca98", "#afe089", "#f8f085"];

// Ten colours for each background, found by a search: any two differ (CIEDE2000) by 13 at least to people with normal vision
// and to those who lack one kind of cones, and each has the contrast of 3 that guidelines ask for of lines and marks.
// The first few differ most.
const LIGHT = ["#1f6fc4", "#e00b5a", "#52340c", "#550e91", "#c67d91", "#576901", "#009fc5", "#276647", "#8d9902", "#974a7f"];
const DARK = ["#5aa5f0", "#dfdb33", "#e2006c", "#11ede7", "#f0a9a2", "#745ed5", "#75a62e", "#ab7da1", "#0a7a6c", "#7d6901"];

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
let current = null;

/** The colours of the moment. */
function look() {
  if (current === null) current = readLook();
  return current;
}

function readLook() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const paper = read("card");
  const isDark = read("dark") === "1";
  return {
    paper,
    ink: read("ink"),
    quiet: read("quiet"),
    rule: read("rule"),
    accent: read("accent"),
    map: isDark ? DARK_MAP : LIGHT_MAP,
    palette: isDark ? DARK : LIGHT,
  };
}

/** The colour of a line: `place` counts the lines of a chart from 0. */
function lineColour(place) {
  return look().palette[place % look().palette.length];
}

/** The colour of a class, the same in all charts; along the map where there are more than the palette has. */
function classColour(place, count) {
  if (count <= look().palette.length) return look().palette[place];
  return along(look().map.slice(2), place / (count - 1));
}

/** The colour of a value in a table of colours. */
function mapColour(value, [low, high]) {
  if (value === null || !(high > low)) return look().paper;
  return along(look().map, Math.min(Math.max((value - low) / (high - low), 0), 1));
}

/** Between the colours of a list; `part` is 0 at the first and 1 at the last. */
function along(shades, part) {
  const position = part * (shades.length - 1);
  const step = Math.min(Math.floor(position), shades.length - 2);
  return mixed(shades[step], shades[step + 1], position - step);
}

/** Black or white, whichever is read better on this colour. */
function inkOn(colour) {
  return contrast("#000000", colour) > contrast("#ffffff", colour) ? "#000000" : "#ffffff";
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** From one colour to another; `part` is 0 at the first. */
function mixed(from, to, part) {
  const target = channels(to);
  const parts = channels(from).map((value, at) => Math.round(value + part * (target[at] - value)));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function luminance(colour) {
  const linear = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(one, other) {
  const [dim, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

/** Call back whenever the colours change; on paper they are always the light ones. */
function onLook(redraw) {
  const changed = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    current = null;
    redraw();
  };
  prefersDark.addEventListener("change", () => changed(null));
  window.addEventListener("beforeprint", () => changed("paper"));
  window.addEventListener("afterprint", () => changed(null));
}
