/*
 * Begins: theme, key, tabs, and what the server is able to do.
 */

const THEMES = ["auto", "light", "dark"];
const THEME_NAME = "weir-theme";

/** Storage may be forbidden; the page works without. */
function remembered(storage, name) {
  try {
    return window[storage].getItem(name) ?? "";
  } catch {
    return "";
  }
}

function remember(storage, name, value) {
  try {
    window[storage].setItem(name, value);
  } catch {
    /* then it is not remembered */
  }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $("theme").textContent = `Theme: ${theme}`;
}

function setUpTheme() {
  let theme = remembered("localStorage", THEME_NAME);
  if (!THEMES.includes(theme)) theme = "auto";
  setTheme(theme);
  $("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    remember("localStorage", THEME_NAME, theme);
  });
}

function setUpKey() {
  apiKey = remembered("sessionStorage", KEY_NAME);
  $("key").value = apiKey;
  $("key-open").addEventListener("click", () => {
    const opens = $("key-panel").hidden;
    show($("key-panel"), opens);
    $("key-open").setAttribute("aria-expanded", String(opens));
    if (opens) $("key").focus();
  });
  $("key-panel").addEventListener("submit", async (event) => {
    event.preventDefault();
    apiKey = $("key").value.trim();
    remember("sessionStorage", KEY_NAME, apiKey);
    if (await learn()) {
      show($("key-panel"), false);
      $("key-open").setAttribute("aria-expanded", "false");
      toast("The key is used from now on");
    }
  });
}

const TABS = ["stream", "detectors", "api"];

function selectTab(name, hasFocus) {
  for (const other of TABS) {
    const isIt = other === name;
    $(`tab-${other}`).setAttribute("aria-selected", String(isIt));
    $(`tab-${other}`).tabIndex = isIt ? 0 : -1;
    show($(`panel-${other}`), isIt);
  }
  if (hasFocus) $(`tab-${name}`).focus();
  if (name === "api") openApi();
}

function setUpTabs() {
  TABS.forEach((name, i) => {
    $(`tab-${name}`).addEventListener("click", () => selectTab(name, false));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowLeft: TABS.length - 1, ArrowRight: 1 }[event.key];
      if (step !== undefined) selectTab(TABS[(i + step) % TABS.length], true);
    });
  });
  $("api-copy").addEventListener("click", () => {
    if (apiDocument !== null) copyText(JSON.stringify(apiDocument, null, 1));
  });
}

function drawKnown() {
  $("version").textContent = known.version === "" ? "" : `weir ${known.version}`;
  show($("model-kind"), known.model === "demo");
  $("model-kind").textContent = "demonstration model";
  const hasModel = known.model !== null;
  $("send").disabled = !hasModel;
  if (!hasModel) {
    $("answer-empty").replaceChildren(
      make("p", {}, make("strong", {}, "No model is configured.")),
      make("p", {}, "There is nothing to stream from, but the detectors can be tried in the other tab."),
    );
  }
  drawRoutes();
  drawDetectorChoice();
}

/** What the server can do. False: it does not say. */
async function learn() {
  try {
    Object.assign(known, await (await ask("/playground/info", { headers: requestHeaders() })).json());
  } catch (error) {
    $("page-error").textContent = error.message;
    show($("page-error"), true);
    return false;
  }
  show($("page-error"), false);
  drawKnown();
  await loadModels();
  return true;
}

setUpTheme();
setUpKey();
setUpTabs();
setUpStream();
setUpDetectors();
learn();
