(() => {
  const box = document.querySelector("#q");
  if (!box) return;
  const rows = [...document.querySelectorAll("[data-f]")];
  const groups = [...document.querySelectorAll("details.grp")];
  const hits = document.querySelector("#hits");
  const fold = document.querySelector("#unfold");
  let before = null;
  document.querySelector(".tools").hidden = false;
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !before) before = groups.map((one) => one.open);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => row.dataset.f.includes(word));
      shown += !row.hidden;
    }
    groups.forEach((one, at) => {
      const has = Boolean(one.querySelector("[data-f]:not([hidden])"));
      one.hidden = words.length > 0 && !has;
      one.open = words.length ? has : before ? before[at] : one.open;
    });
    if (!words.length) before = null;
    hits.textContent = words.length ? `${shown} of ${rows.length} shown` : "";
  };
  const unfold = () => {
    const open = fold.getAttribute("aria-pressed") !== "true";
    for (const one of groups) one.open = open;
    fold.setAttribute("aria-pressed", String(open));
    fold.textContent = open ? "close all" : "open all";
  };
  box.addEventListener("input", filter);
  fold.addEventListener("click", unfold);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box) {
      box.value = "";
      filter();
      box.blur();
    }
  });
})();
