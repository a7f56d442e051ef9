(() => {
  const find = document.getElementById("find"), found = document.getElementById("found");
  const order = document.getElementById("order"), list = document.getElementById("list");
  const all = [...document.querySelectorAll("details.session")];
  const words = new Map(all.map((one) => [one, one.textContent.toLowerCase()]));
  const show = () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    all.forEach((one) => {
      one.hidden = !wanted.every((word) => words.get(one).includes(word));
      n += one.hidden ? 0 : 1;
    });
    found.textContent = wanted.length ? n + " of " + all.length : "";
    list.querySelectorAll("h3").forEach((head) => {
      const mine = all.filter((one) => one.dataset.project === head.dataset.project);
      head.hidden = mine.every((one) => one.hidden);
    });
  };
  const orders = {
    new: () => 0,
    project: (a, b) => (a.dataset.project < b.dataset.project ? -1 : a.dataset.project > b.dataset.project ? 1 : 0),
    cost: (a, b) => b.dataset.cost - a.dataset.cost,
    refusals: (a, b) => b.dataset.refusals - a.dataset.refusals,
  };
  order.addEventListener("change", () => {
    list.replaceChildren();
    let last = null;
    [...all].sort(orders[order.value]).forEach((one) => {
      if (order.value === "project" && one.dataset.project !== last) {
        last = one.dataset.project;
        const head = document.createElement("h3");
        const many = all.filter((other) => other.dataset.project === last).length;
        head.dataset.project = last;
        head.textContent = (last || "no project") + " (" + many + ")";
        list.append(head);
      }
      list.append(one);
    });
    show();
  });
  find.addEventListener("input", show);
})();
