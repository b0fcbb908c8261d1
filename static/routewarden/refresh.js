// The first page refreshes itself. When that fails it says so and keeps what it shows; hidden tabs ask for nothing.
"use strict";

(() => {
  const stale = () => document.getElementById("rw-stale");

  const complain = (why) => {
    const note = stale();
    const asOf = document.querySelector(".rw-asof time");
    note.textContent = `Not refreshed since ${asOf ? asOf.textContent : "it was opened"} UTC: ${why}`;
    note.hidden = false;
  };

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:afterSwap", () => {
    stale().hidden = true;
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    complain(status === 401 ? "you are logged out; reload the page to log in again." : `the server answered ${status}.`);
  });
  document.addEventListener("htmx:sendError", () => complain("the server cannot be reached."));
  document.addEventListener("htmx:timeout", () => complain("the server takes too long."));
})();
