// Sections of charts, the choice of a data set, and the table of contents.

// Which charts take a whole row.
const WIDE = {
  images: () => true,
  table: () => true,
  cards: () => true,
  densities: (chart) => chart.panels.length > 1,
  matrix: (chart) => chart.columns.length > 16,
};
let studyIndex = 0;

const study = () => facts.studies[studyIndex];

/** A section: heading, text, charts. */
function sectionOf(section, level, prefix) {
  const id = `${prefix}-${section.id}`;
  const beside = section.charts.filter((chart) => !isWide(chart)).length;
  const grid = element("div", { class: "charts", "data-beside": beside });
  section.charts.forEach((chart) => {
    const figure = figureOf(chart);
    if (isWide(chart)) figure.classList.add("wide");
    grid.append(figure);
  });
  const heading = element(`h${level}`, { id }, section.title);
  const text = section.text ? element("p", { class: "prose" }, section.text) : null;
  return element("section", { "aria-labelledby": id, class: "section" }, heading, text, grid);
}

const isWide = (chart) => WIDE[chart.kind]?.(chart);

/** What stays whatever study is chosen: sections above the studies and below them. */
function showFrame() {
  for (const place of ["overview", "closing"]) {
    byId(place).append(...(facts[place] ?? []).map((section) => sectionOf(section, 2, place)));
  }
}

/** The sections of the chosen study take the place of those of the one before. */
function showStudy() {
  const place = byId("study");
  dropFigures(place);
  const several = facts.studies.length > 1;
  const chosen = study();
  if (!chosen) return;
  const heading = several ? [element("h2", { id: "study-name", class: "study-name" }, chosen.name)] : [];
  const text = chosen.text ? [element("p", { class: "prose" }, chosen.text)] : [];
  const sections = chosen.sections.map((section) => sectionOf(section, several ? 3 : 2, "study"));
  place.replaceChildren(...heading, ...text, ...sections);
}

/** A native list of the data sets, where there are several. */
function offerStudies(changed) {
  const select = byId("study-select");
  select.append(...facts.studies.map((each, at) => element("option", { value: at }, each.name)));
  byId("choice").hidden = facts.studies.length < 2;
  select.addEventListener("change", () => {
    studyIndex = Number(select.value);
    changed();
    byId("announcement").textContent = `Data set: ${study().name}`;
  });
}

/** Links to all headings of the page. */
function listContents() {
  const headings = [...document.querySelectorAll("main h2, main h3")];
  const links = headings.map((heading) => {
    const link = element("a", { href: `#${heading.id}` }, heading.textContent);
    return element("li", { class: heading.tagName.toLowerCase() }, link);
  });
  byId("contents").querySelector("ul").replaceChildren(...links);
  byId("contents").hidden = links.length < 2;
}
