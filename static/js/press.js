// A button that is replaced between press and release never gets its click. So what htmx brings in waits for the
// release; a form is often asked anew by the very press that leaves its last field.
"use strict";
(() => {
  // The click comes right behind the release, on a touch screen a little later.
  const AFTER_MS = 50;
  const KEYS = "button, summary, input, [role=button]";
  let pressed = false;
  let due = [];

  function press() {
    pressed = true;
  }
  function release() {
    if (!pressed) return;
    pressed = false;
    setTimeout(() => {
      if (pressed) return;
      const ready = due;
      due = [];
      for (const go of ready) go();
    }, AFTER_MS);
  }
  addEventListener("pointerdown", press, true);
  addEventListener("keydown", (e) => e.key === " " && e.target.closest?.(KEYS) && press(), true);
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
