// Charts that are tables on the page: rows of pictures, and rows of words.

const images = {
  fill(figure, chart) {
    const heads = chart.columns.map((name) => element("th", { scope: "col" }, String(name)));
    const head = element("thead", {}, element("tr", {}, element("td"), ...heads));
    const body = element("tbody", {}, ...chart.rows.map((name, row) => pictureRow(chart, name, row)));
    const table = element("table", { class: chart.invert ? "pictures ink" : "pictures" }, head, body);
    figure.append(scrollRegion(chart.title, table));
  },

  /** Only the pictures change; the table stays. */
  move(figure, chart, index) {
    figure.querySelectorAll("img").forEach((image) => {
      const source = chart.images[index][image.dataset.row][image.dataset.column];
      image.hidden = !source;
      if (source) image.src = `data:image/png;base64,${source}`;
      else image.removeAttribute("src");
    });
  },
};

function pictureRow(chart, name, row) {
  const cells = chart.columns.map((column, place) => {
    const image = element("img", { alt: `${column}: ${name}`, "data-row": row, "data-column": place, hidden: true });
    return element("td", {}, image);
  });
  return element("tr", {}, element("th", { scope: "row" }, String(name)), ...cells);
}

const LONG = 24; // characters: a cell that needs room
const BADGES = { good: ["reproduced"], bad: ["differs", "not reproduced"] };

const table = {
  fill(figure, chart) {
    const heads = chart.columns.map((name) => element("th", { scope: "col" }, String(name)));
    const rows = chart.rows.map((cells) => element("tr", {}, ...cells.map((cell, at) => tableCell(chart, cell, at))));
    const body = element("tbody", {}, ...rows);
    const built = element("table", { class: "words-table" }, element("thead", {}, element("tr", {}, ...heads)), body);
    figure.append(scrollRegion(chart.title, built));
  },
  move() {},
};

function tableCell(chart, cell, place) {
  const text = cell === null ? MISSING : String(cell);
  const content = place === chart.class_column ? element("span", { class: `badge ${badgeOf(text)}` }, text) : text;
  const heads = place === 0 && chart.class_column !== 0;
  const attributes = { scope: heads ? "row" : null, class: text.length > LONG ? "long" : null };
  return element(heads ? "th" : "td", attributes, content);
}

function badgeOf(text) {
  const word = text.trim().toLowerCase();
  return Object.keys(BADGES).find((kind) => BADGES[kind].includes(word)) ?? "other";
}

/** A part of the page that scrolls sideways by itself, also with the keyboard. */
function scrollRegion(label, ...children) {
  return element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);
}
