// Put the facts on the page, and start.

byId("subtitle").textContent = facts.subtitle;
byId("verdict").textContent = facts.verdict ?? "";
byId("summary").textContent = facts.summary.filter((sentence) => sentence !== facts.verdict).join(" ");
byId("numbers").append(
  ...facts.numbers.map(({ value, label, text }) =>
    element(
      "div",
      {},
      element("dt", {}, label),
      element("dd", { class: "value" }, value),
      element("dd", {}, text ?? ""),
    ),
  ),
);
byId("footer").append(...facts.footer.map((sentence) => element("p", {}, sentence)));
["subtitle", "verdict", "summary", "numbers", "footer"].forEach((id) => (byId(id).hidden = !byId(id).textContent));

document.body.dataset.index = Math.min(Math.max(facts.start ?? 0, 0), lastIndex);
setUpSlider();
offerStudies(() => {
  showStudy();
  listContents();
  goTo(currentIndex());
});
showFrame();
showStudy();
listContents();
goTo(currentIndex());
keepClearOfBar();
onLook(redrawFigures);
// Inside a frame of a notebook the address is that of the notebook: a link to a part of this page would lead there.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link === null || document.URL !== "about:srcdoc") return;
  event.preventDefault();
  document.getElementById(link.hash.slice(1)).scrollIntoView();
});

document.body.dataset.ready = "yes";
