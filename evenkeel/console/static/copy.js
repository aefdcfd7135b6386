// Puts a button beside each text that is to be pasted elsewhere.
"use strict";
for (const text of document.querySelectorAll("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy: " + text.parentElement.querySelector("figcaption").textContent);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text); // plain HTTP to another machine has no clipboard
      button.textContent = "Selected";
    }
  });
  text.before(button);
}
