// Tables: charts that are rows of pictures or of texts, cards, and "The numbers" below all other charts.

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
const BADGES = { good: ["reproduced", "right"], bad: ["differs", "not reproduced", "wrong"] };

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

/** The text of a cell, as a badge where it is a verdict. */
function cellContent(chart, cell, place) {
  const text = cell === null ? MISSING : String(cell);
  return place === chart.class_column ? element("span", { class: `badge ${badgeOf(text)}` }, text) : text;
}

function tableCell(chart, cell, place) {
  const text = String(cell);
  const heads = place === 0 && chart.class_column !== 0;
  const attributes = { scope: heads ? "row" : null, class: text.length > LONG ? "long" : null };
  return element(heads ? "th" : "td", attributes, cellContent(chart, cell, place));
}

/** Rows of texts, each with its picture: side by side, as many as there is room for. */
const cards = {
  fill(figure, chart) {
    const items = chart.rows.map((cells, row) => {
      const source = `data:image/png;base64,${chart.images[row]}`;
      const pairs = cells.map((cell, at) =>
        element("div", {}, element("dt", {}, chart.columns[at]), element("dd", {}, cellContent(chart, cell, at))),
      );
      const image = element("img", { src: source, alt: `${chart.columns[0]} ${cells[0]}` });
      return element("li", {}, image, element("dl", {}, ...pairs));
    });
    const list = element("ul", { class: chart.invert ? "card-list pictures ink" : "card-list pictures" }, ...items);
    figure.append(scrollRegion(chart.title, list));
  },
  move() {},
};

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
  const tables = kind.numbers(chart, chart.fixed ? 0 : index).map((numbers) => numbersTable(chart, numbers, index));
  const region = details.querySelector(".scroll");
  if (region) region.replaceChildren(...tables);
  else details.append(scrollRegion(`The numbers: ${chart.title}`, ...tables));
  details.dataset.index = index;
}

function numbersTable(chart, { title, corner, columns, rows }, index) {
  const what = title ? `${chart.title}: ${title}` : chart.title;
  const where = chart.fixed || chart.x || lastIndex < 1 ? "" : `, at diversity ${facts.diversities[index]}`;
  const caption = element("caption", {}, what + where);
  const heads = columns.map((name) => element("th", { scope: "col" }, String(name)));
  const first = corner ? element("th", { scope: "col" }, corner) : element("td");
  const head = element("thead", {}, element("tr", {}, first, ...heads));
  const body = rows.map(({ name, cells }) => {
    const values = cells.map((cell) => element("td", {}, cell));
    return element("tr", {}, element("th", { scope: "row" }, String(name)), ...values);
  });
  return element("table", {}, caption, head, element("tbody", {}, ...body));
}
