// Tables: charts that are rows of pictures or of texts, and "The numbers" below all other charts.

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
    const built = element("table", { class: "text-table" }, element("thead", {}, element("tr", {}, ...heads)), body);
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

/** The values of a chart at this diversity as a table, built when somebody opens it. */
function numbersOf(kind, chart) {
  const details = element("details", { class: "the-numbers" }, element("summary", {}, "The numbers"));
  details.addEventListener("toggle", () => fillNumbers(details, kind, chart));
  return details;
}

/** Tables for the diversity of the slider; a closed one is left alone until it opens. */
function fillNumbers(details, kind, chart) {
  if (!details.open || details.dataset.index === document.body.dataset.index) return;
  const index = Number(document.body.dataset.index);
  const tables = kind.numbers(chart, index).map((numbers) => numbersTable(chart, numbers, index));
  const region = details.querySelector(".scroll");
  if (region) region.replaceChildren(...tables);
  else details.append(scrollRegion(`The numbers: ${chart.title}`, ...tables));
  details.dataset.index = index;
}

function numbersTable(chart, { title, corner, columns, rows }, index) {
  const what = title ? `${chart.title}: ${title}` : chart.title;
  const caption = element("caption", {}, `${what}, at diversity ${facts.diversities[index]}`);
  const heads = columns.map((name) => element("th", { scope: "col" }, String(name)));
  const first = corner ? element("th", { scope: "col" }, corner) : element("td");
  const head = element("thead", {}, element("tr", {}, first, ...heads));
  const body = rows.map(({ name, cells }) => {
    const values = cells.map((cell) => element("td", {}, cell));
    return element("tr", {}, element("th", { scope: "row" }, String(name)), ...values);
  });
  return element("table", {}, caption, head, element("tbody", {}, ...body));
}
