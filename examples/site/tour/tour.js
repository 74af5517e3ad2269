// The buttons of the tour: each sends one request to the server of this page and shows the answer.
"use strict";

/** How many characters of a body are shown. */
const BODY_SHOWN = 400;

/** What each button asks; the names stand in the page as data-stop. */
const STOPS = {
  head: () => ask("../", { method: "HEAD" }),
  fresh: async () => {
    const known = await fetch("../style.css", { method: "HEAD", cache: "no-store" });
    const tag = known.headers.get("etag") ?? "";
    return ask("../style.css", { headers: { "If-None-Match": tag } });
  },
  slice: () => ask("../downloads/why-three-legs.txt", { headers: { Range: "bytes=0-79" } }),
  // A script never sees the redirect itself, only where it led.
  slash: () => ask("../legs", { method: "HEAD" }),
  list: () => ask("../downloads/?C=S;O=D", {}),
  options: () => ask("./", { method: "OPTIONS" }),
};

/** Sends one request, past the browser's own cache, and writes the exchange as text. */
async function ask(address, options) {
  const response = await fetch(address, { cache: "no-store", ...options });
  const asked = Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  const answered = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  const path = new URL(address, document.baseURI);
  const body = await response.text();
  const shown = body.length > BODY_SHOWN ? `${body.slice(0, BODY_SHOWN)} ...` : body;
  return [
    `> ${options.method ?? "GET"} ${path.pathname}${path.search}`,
    ...asked.map((line) => `> ${line}`),
    ...(response.redirected ? [`(redirected to ${new URL(response.url).pathname})`] : []),
    `< ${response.status} ${response.statusText}`,
    ...answered.map((line) => `< ${line}`),
    ...(shown ? ["", shown] : []),
  ].join("\n");
}

/** Asks for one stop and puts the answer, or the reason why there is none, below its button. */
async function show(button) {
  const answer = document.createElement("pre");
  button.disabled = true;
  try {
    answer.textContent = await STOPS[button.dataset.stop]();
  } catch (error) {
    answer.textContent = `No answer: ${error.message}. Is the page served, or only opened?`;
  }
  button.disabled = false;
  button.nextElementSibling.replaceChildren(answer);
}

for (const button of document.querySelectorAll("button[data-stop]")) {
  button.hidden = false;
  button.addEventListener("click", () => show(button));
}
