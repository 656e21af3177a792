// The panel of an EpilogueWidget: controls, words and a chart over one widget model. Stands behind
// what draws figures (protonlab.views) and controls.js in one module.
//
// It mounts where an output says `<div class="protonlab-epilogue" data-mount=…>`, over the picture
// that stays there without a kernel, or where a front end asks for a widget view. The kernel writes
// whole figures; the toggle is the page's own affair, so it answers also while the kernel is busy.

// Opacity of the setting that is not chosen; its line keeps a contrast of 3, in either theme.
const FADED = { band: 0.5, points: 0.5, median: 0.71 };

// Milliseconds; a kernel that has nothing else to do answers before that.
const SOON = 100;
const WAITS = "Waiting for the kernel …";
// States of a kernel that has forgotten the panel, or is about to.
const GONE = ["restarting", "autorestarting", "terminating", "dead"];

class Panel {
  constructor(model, host) {
    Object.assign(this, { model, host, frame: 0, words: model.get("words") });
    this.build();
    this.endings = [keepKeys(host)];
    const on = (events, act) => {
      model.on(events, act);
      this.endings.push(() => model.off(events, act));
    };
    const change = (...names) => names.map((name) => `change:${name}`).join(" ");
    on(change("choices", "source", ...Object.keys(FIELDS)), () => this.controls.show());
    on(change("overlap", "running", "source", ...Object.keys(FIELDS)), () => this.say());
    on(change("words", "chart", "overlap"), () => this.draw());
    on(change("table"), () => this.tabulate());
    on("msg:custom", ({ kind, html }) => kind === "ptx" && this.showPTX(html));
    on("comm_live_update", () => this.lose()); // ipywidgets': it has left the kernel
    this.watch(model.widget_manager?.kernel);
    this.controls.show();
    this.say();
    this.tabulate();
    this.draw();
  }

  // ipywidgets says nothing of kernels that end for good, JupyterLab does.
  watch(kernel) {
    if (!kernel?.statusChanged || !kernel.disposed) return;
    const look = (_, status) => GONE.includes(status) && this.lose();
    const lose = () => this.lose();
    kernel.statusChanged.connect(look);
    kernel.disposed.connect(lose);
    this.endings.push(() => {
      kernel.statusChanged.disconnect(look);
      kernel.disposed.disconnect(lose);
    });
  }

  lose() {
    this.end("The kernel is gone. Run the cell again.");
  }

  // The kernel closed the widget, or is gone: what was measured stays to be looked at.
  end(why = "Closed. Run the cell again for a new panel.") {
    if (this.isOver) return;
    this.isOver = true;
    this.words = this.model.get("words");
    this.endings.forEach((each) => each());
    clearTimeout(this.timer);
    this.say();
    this.controls.take(this.words.of ?? {});
    for (const control of this.host.querySelectorAll("button, input, select")) control.disabled = true;
    this.notice.textContent = why; // beside the controls
    this.status.textContent = "";
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
    this.controls = new Controls(this.model, (name, value) => this.set(name, value), this.fields);
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
    this.table = element("div", { className: "wide" });
    this.ask = element("button", { type: "button", textContent: "Show both PTX side by side" });
    this.ask.onclick = () => this.model.send({ kind: "ptx" });
    this.ptx = element("div");
    this.details = element("details", {}, this.summary, this.table, this.ask, this.ptx);
    this.host.replaceChildren(
      element("div", { className: "row" }, this.toggle, this.go, this.shut),
      this.fields, this.notice, this.headline, this.sentence, this.problem, this.plot,
      element("div", { className: "row" }, this.keep, this.kept, this.status), this.notes, this.details);
  }

  // Whether a person has chosen something else than that.
  isApart(from = {}) {
    return Object.entries(from).some(([name, value]) => this.model.get(name) !== value);
  }

  // What the kernel has not answered to, and numbers of another case; unless that is over soon.
  doubt() {
    const isWaiting = this.isApart(this.words.of);
    const isDoubtful = !this.isOver && (isWaiting || this.isApart(this.words.drawn));
    if (!isDoubtful) this.timer = this.isLate = clearTimeout(this.timer);
    this.timer ??= isDoubtful ? setTimeout(() => this.late(), SOON) : undefined;
    this.host.classList.toggle("doubtful", Boolean(this.isLate));
    return isWaiting && this.isLate;
  }

  late() {
    this.isLate = true;
    this.say();
  }

  say() {
    const { words, isOver } = this;
    const overlap = this.model.get("overlap");
    const running = !isOver && this.model.get("running");
    const side = overlap ? 0 : 1;
    const isWaiting = this.doubt();
    this.toggle.ariaChecked = String(overlap);
    this.go.textContent = running ? "Stop" : "Start";
    this.go.classList.toggle("running", running);
    const put = (node, text) => node.textContent !== text && (node.textContent = text);
    put(this.headline, words.headlines?.[side] ?? `Overlap ${overlap ? "on" : "off"}`);
    put(this.sentence, isWaiting ? WAITS : words.sentences?.[side] ?? "");
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

  // Words and chart of one moment, in one task.
  async paint() {
    if (!this.isOver) this.words = this.model.get("words");
    this.say();
    const figure = this.model.get("chart");
    this.plot.hidden = !figure.layout;
    if (!figure.layout) return;
    try {
      const Plotly = await plotlyFrom(this.model);
      const chosen = this.model.get("overlap") ? "first" : "second";
      await this.plotted(Plotly, emphasised(figure, chosen));
      this.plot.dataset.drawn = chosen;
    } catch (error) {
      this.chart = undefined;
      this.plot.textContent = `The chart cannot be drawn: ${error.message}`;
    }
  }

  // A chart of another case needs other room than the one before.
  plotted(Plotly, figure) {
    const about = JSON.stringify(this.words.drawn);
    if (!this.chart) this.chart = new FittedDrawing(this.plot, Plotly, figure);
    else {
      Object.assign(this.chart, { figure, own: figure.layout.meta?.protonlab ?? {} });
      if (about !== this.about) this.chart.fit = undefined;
      this.chart.paint();
    }
    this.about = about;
    return this.chart.drawn;
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
