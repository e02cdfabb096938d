// "The numbers": the values of a chart at this diversity as a real table, built when somebody opens it.

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
