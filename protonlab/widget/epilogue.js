// The panel of an EpilogueWidget: controls, words and a chart over one widget model. Stands behind
// theme.js and plotly.js (protonlab.views) in one module.
//
// It mounts where an output says `<div class="protonlab-epilogue" data-mount=…>`, over the picture
// that stays there without a kernel, or where a front end asks for a widget view. The kernel writes
// whole figures; the toggle is the page's own affair, so it answers also while the kernel is busy.

const FIELDS = { tokens: "Tokens per expert", experts: "Experts", n: "N", k: "K", kernel: "Kernel" };
const WORDS = {
  kernel: { ours: "ours, plain Triton", upstream: "upstream, triton_kernels" },
  source: {
    gpu: "this GPU", replay: "replay of a recording", interpreter: "interpreter, correctness only",
  },
};
const SOURCES = ["gpu", "replay", "interpreter"];
const CONFIG = { displaylogo: false, doubleClick: false, modeBarButtons: [["toImage"]] };
const CONTROLS = new Set(["button", "input", "select", "summary"]);
// Opacity of the setting that is not chosen; its line keeps a contrast of 3, in either theme.
const FADED = { band: 0.5, points: 0.5, median: 0.71 };

// JupyterLab takes a key for a shortcut before a panel could stop it, except where its target says so.
const TAKES_KEYS = { lmSuppressShortcuts: "true" };

function element(name, properties = {}, ...children) {
  const { dataset = {}, ...rest } = properties;
  const made = Object.assign(document.createElement(name), rest);
  Object.assign(made.dataset, dataset, CONTROLS.has(name) ? TAKES_KEYS : {});
  made.append(...children);
  return made;
}

class Panel {
  constructor(model, host) {
    Object.assign(this, { model, host, width: 0, frame: 0 });
    this.build();
    this.endings = [];
    const on = (names, act) => {
      const events = names.map((name) => `change:${name}`).join(" ");
      model.on(events, act);
      this.endings.push(() => model.off(events, act));
    };
    on(["choices", "source", ...Object.keys(FIELDS)], () => this.controls());
    on(["words", "overlap", "running"], () => this.say());
    on(["chart", "overlap"], () => this.draw());
    on(["table"], () => this.tabulate());
    const answer = ({ kind, html }) => kind === "ptx" && this.showPTX(html);
    model.on("msg:custom", answer);
    this.endings.push(() => model.off("msg:custom", answer));
    this.resizes = new ResizeObserver(() => {
      if (this.plot.clientWidth !== this.width) this.draw();
    });
    this.resizes.observe(this.plot);
    this.controls();
    this.say();
    this.tabulate();
    this.draw();
  }

  // The kernel closed the widget: what was measured stays to be looked at.
  end() {
    this.endings.forEach((each) => each());
    this.resizes.disconnect();
    for (const control of this.host.querySelectorAll("button, input, select")) control.disabled = true;
    this.status.textContent = "Closed. Run the cell again for a new panel.";
  }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes(); // one at a time is on its way; of later ones only the last counts
  }

  build() {
    this.toggle = element("button", { type: "button", className: "switch" },
      element("i"), element("span", { textContent: "Overlap epilogue (FLATTEN_LOOPS)" }));
    this.toggle.setAttribute("role", "switch");
    this.toggle.onclick = () => this.set("overlap", !this.model.get("overlap"));
    this.go = element("button", { type: "button", className: "go" });
    this.go.onclick = () => this.set("running", !this.model.get("running"));
    this.shut = element("button", {
      type: "button", textContent: "Close", title: "Stop, and give the GPU's memory back",
    });
    this.shut.onclick = () => this.model.send({ kind: "close" });
    this.fields = element("div", { className: "fields" });
    this.notice = element("output", { className: "notice" });
    this.headline = element("div", { className: "headline" });
    this.sentence = element("div", { className: "sentence", role: "status" });
    this.sentence.ariaLive = "polite";
    this.problem = element("div", { className: "problem", role: "alert" });
    this.plot = element("div", { className: "chart" });
    this.status = element("output", { className: "status" });
    this.keep = element("button", {
      type: "button", textContent: "Keep in variables",
      title: "Write the VariantComparison and both Profiles into variables of the notebook",
    });
    this.keep.onclick = () => this.model.send({ kind: "keep" });
    this.kept = element("output", { className: "kept" });
    this.notes = element("div", { className: "notes" });
    this.summary = element("summary", { textContent: "What the switch changed" });
    this.table = element("div");
    this.ask = element("button", { type: "button", textContent: "Show both PTX side by side" });
    this.ask.onclick = () => this.model.send({ kind: "ptx" });
    this.ptx = element("div");
    this.details = element("details", {}, this.summary, this.table, this.ask, this.ptx);
    this.host.replaceChildren(
      element("div", { className: "row" }, this.toggle, this.go, this.shut),
      this.fields, this.notice, this.headline, this.sentence, this.problem, this.plot,
      element("div", { className: "row" }, this.keep, this.kept, this.status), this.notes, this.details);
    // Keys are the notebook's shortcuts, in a panel they are not.
    this.host.onkeydown = (event) => event.stopPropagation();
  }

  // One control a field: built anew only when what may be chosen changes, else set to its value.
  controls() {
    const choices = this.model.get("choices");
    const shape = JSON.stringify([choices, this.model.get("source")]);
    if (shape !== this.shape) {
      this.shape = shape;
      const source = this.choose("source", SOURCES);
      const made = Object.keys(FIELDS).filter((name) => choices[name]).map((name) =>
        Array.isArray(choices[name])
          ? name === "tokens" ? this.slide(name, choices[name]) : this.choose(name, choices[name])
          : this.count(name, choices[name]));
      const focused = document.activeElement?.dataset?.field;
      const isInside = this.host.contains(document.activeElement);
      this.fields.replaceChildren(this.label("Source", source), ...made.map((control) =>
        this.label(FIELDS[control.dataset.field], control)));
      if (isInside && focused) this.fields.querySelector(`[data-field=${focused}]`)?.focus();
    }
    for (const control of this.fields.querySelectorAll("[data-field]")) {
      control.take(this.model.get(control.dataset.field));
    }
  }

  label(text, control) {
    const label = element("label", {}, element("span", { textContent: text }), control);
    if (control.said) label.append(control.said);
    return label;
  }

  choose(name, values) {
    const options = values.map((value) =>
      element("option", { value, textContent: WORDS[name]?.[value] ?? Number(value).toLocaleString("en") }));
    const control = element("select", { dataset: { field: name }, disabled: values.length < 2 }, ...options);
    const isText = typeof values[0] === "string";
    control.take = (value) => (control.value = String(value));
    control.onchange = () => this.set(name, isText ? control.value : Number(control.value));
    return control;
  }

  slide(name, values) {
    const control = element("input", {
      type: "range", min: 0, max: values.length - 1, step: 1, dataset: { field: name },
      disabled: values.length < 2,
    });
    control.said = element("output", { className: "number" });
    const tell = (value) => {
      control.said.textContent = value;
      control.setAttribute("aria-valuetext", `${value}`);
    };
    control.take = (value) => {
      control.value = Math.max(0, values.findLastIndex((each) => each <= value)); // or the next below
      tell(value);
    };
    control.oninput = () => {
      tell(values[control.value]);
      this.set(name, values[control.value]);
    };
    return control;
  }

  count(name, { min, max, step }) {
    const control = element("input", { type: "number", min, max, step, dataset: { field: name } });
    control.take = (value) => {
      if (document.activeElement !== control) control.value = value;
    };
    control.onchange = () => this.set(name, Math.round(Number(control.value)));
    return control;
  }

  say() {
    const [words, overlap, running] = ["words", "overlap", "running"].map((name) => this.model.get(name));
    const side = overlap ? 0 : 1;
    this.toggle.ariaChecked = String(overlap);
    this.go.textContent = running ? "Stop" : "Start";
    this.go.classList.toggle("running", running);
    const put = (node, text) => node.textContent !== text && (node.textContent = text);
    put(this.headline, words.headlines?.[side] ?? `Overlap ${overlap ? "on" : "off"}`);
    put(this.sentence, words.sentences?.[side] ?? "");
    for (const name of ["problem", "status", "kept", "notice"]) put(this[name], words[name] ?? "");
    put(this.summary, words.compiled ? `What the switch changed: ${words.compiled}` : "What the switch changed");
    const told = [
      words.verdict && `Verdict: ${words.verdict}.`,
      ...(words.warnings ?? []).map((each) => `Warning: ${each}`),
      words.outputs && `Outputs: ${words.outputs}.`,
      words.protocol && `Protocol: ${words.protocol}`,
      words.label && `Numbers: ${words.label}.`,
    ].filter(Boolean);
    const text = told.join("\n");
    if (text !== this.told) {
      this.told = text;
      this.notes.replaceChildren(...told.map((each) => element("p", { textContent: each })));
    }
    this.ask.hidden = !words.ptx;
    this.keep.disabled = !words.headlines?.length;
  }

  tabulate() {
    const table = this.model.get("table"); // made by protonlab, names escaped
    this.table.innerHTML = table;
    this.ptx.replaceChildren();
    this.details.hidden = !table;
  }

  showPTX(html) {
    this.ptx.innerHTML = html;
  }

  // At most one drawing a frame, of the newest figure.
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  async paint() {
    const figure = this.model.get("chart");
    const width = this.plot.clientWidth;
    if (!width) return; // a hidden tab is drawn when it is shown
    this.width = width;
    this.plot.hidden = !figure.layout;
    if (!figure.layout) return;
    try {
      const Plotly = await plotlyFrom(this.model);
      const chosen = this.model.get("overlap") ? "first" : "second";
      const twins = isDark() ? (figure.layout.meta?.protonlab?.dark ?? {}) : {};
      const shown = recolour(emphasised(figure, chosen), twins);
      await Plotly.react(this.plot, shown.data, { ...shown.layout, width }, CONFIG);
      this.plot.dataset.drawn = chosen;
    } catch (error) {
      this.plot.textContent = `The chart cannot be drawn: ${error.message}`;
    }
  }
}

// The chosen setting in full colour and on top of the other one, but no band on top of a line.
function emphasised(figure, chosen) {
  const isChosen = ({ meta }) => String(meta).endsWith(chosen);
  const kind = ({ meta }) => String(meta).split(" ")[0];
  const layer = (trace) => 2 * Object.keys(FADED).indexOf(kind(trace)) + isChosen(trace);
  const data = figure.data.map((trace) =>
    isChosen(trace) ? trace : { ...trace, opacity: FADED[kind(trace)] });
  return { ...figure, data: data.sort((one, other) => layer(one) - layer(other)) };
}

const panels = new Set();

function mounted(model, host) {
  const panel = new Panel(model, host);
  panels.add(panel);
  return () => {
    panel.end();
    panels.delete(panel);
  };
}

function initialize({ model }) {
  const wanted = `div.protonlab-epilogue[data-mount="${model.get("mount")}"]:not([data-live])`;
  const endings = [];
  const look = () => {
    for (const host of document.querySelectorAll(wanted)) {
      host.dataset.live = "";
      host.style.cssText = "";
      endings.push(mounted(model, styled(model, host)));
    }
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { childList: true, subtree: true });
  followTheme(() => panels.forEach((panel) => panel.draw()));
  look();
  return () => {
    observer.disconnect();
    endings.forEach((end) => end());
  };
}

// anywidget brings the style of a widget view only; here it comes with the panel.
function styled(model, host) {
  if (!document.getElementById("protonlab-epilogue-style")) {
    document.head.append(element("style", { id: "protonlab-epilogue-style", textContent: model.get("_css") }));
  }
  return host;
}

function render({ model, el }) {
  const host = element("div", { className: "protonlab-epilogue" });
  el.append(host);
  return mounted(model, host);
}
export default { initialize, render };
