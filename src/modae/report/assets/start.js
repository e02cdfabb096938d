// Put the facts on the page, and start.

byId("subtitle").textContent = facts.subtitle;
byId("summary").textContent = facts.summary.join(" ");
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
["subtitle", "summary", "numbers", "footer"].forEach((id) => (byId(id).hidden = !byId(id).textContent));

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
document.body.dataset.ready = "yes";
