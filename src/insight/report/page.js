(() => {
  const find = document.getElementById("find"), found = document.getElementById("found");
  const all = [...document.querySelectorAll("details.session")];
  const words = all.map((one) => one.textContent.toLowerCase());
  find.addEventListener("input", () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    all.forEach((one, at) => {
      one.hidden = !wanted.every((word) => words[at].includes(word));
      n += one.hidden ? 0 : 1;
    });
    found.textContent = wanted.length ? n + " of " + all.length : "";
  });
})();
