// A button that is replaced between press and release never gets its click. So what htmx brings in waits for the
// release; a form is often asked anew by the very press that leaves its last field.
"use strict";
(() => {
  // The click comes right behind the release, on a touch screen a little later.
  const AFTER_MS = 50;
  // A release can get lost, in a menu of the system's own for example: nothing waits longer than this.
  const MOST_MS = 3000;
  const CLICKED = "a, button, summary, label, input, [role=button]";
  let pressed = false;
  let due = [];
  let longest;

  function press({ target }) {
    // What is scrolled, selected or chosen from is not replaced by a click.
    if (!target.closest?.(CLICKED)) return;
    pressed = true;
    clearTimeout(longest);
    longest = setTimeout(release, MOST_MS);
  }
  function release() {
    if (!pressed) return;
    pressed = false;
    clearTimeout(longest);
    setTimeout(() => {
      if (pressed) return;
      const ready = due;
      due = [];
      for (const go of ready) go();
    }, AFTER_MS);
  }
  addEventListener("pointerdown", press, true);
  addEventListener("keydown", (e) => e.key === " " && press(e), true);
  addEventListener("keyup", (e) => e.key === " " && release(), true);
  // A press may also end elsewhere: in a menu, in a drag, in another window.
  for (const end of ["pointerup", "pointercancel", "contextmenu", "dragend"]) addEventListener(end, release, true);
  addEventListener("blur", release);

  document.addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => {
    const loaded = xhr.onload;
    xhr.onload = (event) => {
      const go = () => loaded.call(xhr, event);
      if (pressed) due.push(go);
      else go();
    };
  });
})();
