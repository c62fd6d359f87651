// The plots of a run, which uPlot draws from its records (docs/events.md), on the page of a run and in its report.
const MidstreamPlots = (() => {
  "use strict";

  // finest is the most times in a story, about: more than a screen has pixels.
  const finest = 2000;

  // A story holds the records of a run as columns.
  class Story {
    constructor() {
      this.times = []; // seconds of Unix time
      this.columns = {};
      for (const plot of plots) for (const line of plot.lines) this.columns[line.field] = [];
      this.bands = []; // {from, to, why}: closed gates
      this.marks = []; // {at, kind, text}
    }

    // take adds a record, and reports whether the plots change.
    take(record) {
      const at = Date.parse(record.at) / 1000;
      const open = this.bands.length > 0 && this.bands[this.bands.length - 1].to === null ? this.bands[this.bands.length - 1] : null;
      switch (record.event) {
        case "progress": {
          let n = this.times.length;
          if (n > 0 && at <= this.times[n - 1]) return false;
          // A page may be open for weeks: the newest record replaces one that is too near to the record before.
          if (n > 1 && this.times[n - 1] - this.times[n - 2] < (at - this.times[0]) / finest) n--;
          this.times[n] = at;
          for (const plot of plots) for (const line of plot.lines) this.columns[line.field][n] = line.of(record);
          return true;
        }
        case "throttled": {
          const why = record.gates.map(g => g.why).join("; ");
          if (open) {
            if (open.why === why) return false;
            open.to = at;
          }
          if (why) this.bands.push({ from: at, to: null, why });
          return true;
        }
        case "phase":
          if (open && record.phase === "check") open.to = at; // another attempt has gates of its own
          this.marks.push({ at, kind: "phase", text: record.phase });
          return true;
        case "lock_attempt":
          this.marks.push({ at, kind: record.granted ? "granted" : "withdrawn", text: "lock attempt " + record.number });
          return true;
        case "killed":
          this.marks.push({ at, kind: "killed", text: "connection " + record.blocker.connection_id + " killed" });
          return true;
        case "swapped":
          this.marks.push({ at, kind: "swapped", text: "swapped" });
          return true;
        case "result":
          if (open) open.to = at;
          return open !== null;
      }
      return false;
    }
  }

  const known = v => (v === null || v === undefined ? null : v);
  const above = v => (v > 0 ? v : null);

  const plots = [
    {
      title: "Rates", unit: "per second", lines: [
        { field: "copied", label: "rows copied", color: "--line-1", of: r => r.copy_rows_per_s },
        { field: "applied", label: "keys applied", color: "--line-2", of: r => r.apply_keys_per_s },
      ],
    },
    { title: "Backlog", unit: "keys", lines: [{ field: "backlog", label: "keys not applied", color: "--line-2", of: r => r.backlog_keys, fill: true }] },
    {
      title: "Delays", unit: "ms", lines: [
        { field: "capture", label: "capture", color: "--line-1", of: r => r.capture_delay_ms },
        { field: "replica", label: "replica lag", color: "--line-3", of: r => known(r.replica_lag_ms) },
      ],
    },
    {
      title: "Application statements", unit: "ms on average", lines: [
        { field: "alone", label: "without this run", color: "--line-4", of: r => above(r.application_statement_alone_ms), fill: true },
        { field: "felt", label: "now", color: "--line-1", of: r => above(r.application_statement_ms) },
      ],
    },
    { title: "Application load", unit: "statements per second", lines: [{ field: "statements", label: "statements", color: "--line-4", of: r => r.application_statements_per_s }] },
    {
      title: "Row copy workers", unit: "1.5: the second works half of the time", lines: [
        { field: "workers", label: "workers", color: "--line-1", of: r => r.workers },
      ],
    },
  ];

  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const markColors = { phase: "--quiet", granted: "--good", withdrawn: "--bad", killed: "--bad", swapped: "--good" };

  // behind draws the closed gates and the marks behind the lines.
  function behind(u, story) {
    const { left, top, width, height } = u.bbox;
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    c.fillStyle = color("--band");
    for (const b of story.bands) {
      const from = u.valToPos(b.from, "x", true);
      const to = u.valToPos(b.to === null ? u.scales.x.max : b.to, "x", true);
      c.fillRect(from, top, Math.max(1, to - from), height);
    }
    for (const m of story.marks) {
      const x = Math.round(u.valToPos(m.at, "x", true));
      c.strokeStyle = color(markColors[m.kind]);
      c.lineWidth = m.kind === "phase" ? 1 : 2;
      c.setLineDash(m.kind === "phase" ? [3, 3] : []);
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, top + height);
      c.stroke();
    }
    c.restore();
  }

  // clock is a time of day, without seconds if a step is a minute or more, and a day if it is a day.
  const clock = (t, step) => {
    const at = new Date(t * 1000);
    const two = n => String(n).padStart(2, "0");
    const time = two(at.getHours()) + ":" + two(at.getMinutes()) + (step < 60 ? ":" + two(at.getSeconds()) : "");
    return step < 86400 ? time : two(at.getMonth() + 1) + "-" + two(at.getDate());
  };

  const short = v => {
    if (v === null) return "";
    const a = Math.abs(v);
    if (a >= 1e6) return +(v / 1e6).toPrecision(3) + " M";
    if (a >= 1e4) return +(v / 1e3).toPrecision(3) + " k";
    return String(+v.toPrecision(3));
  };

  // mount draws all plots into an element. Call the draw that it returns when the story has grown.
  function mount(element, story, height = 150) {
    const sync = uPlot.sync("run-" + Math.random());
    const drawn = plots.map(plot => {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = plot.title + " ";
      const unit = document.createElement("small");
      unit.textContent = plot.unit;
      caption.append(unit);
      figure.append(caption);
      element.append(figure);
      const axis = () => ({ stroke: () => color("--quiet"), grid: { stroke: () => color("--grid"), width: 1 }, ticks: { stroke: () => color("--grid") }, font: "11px system-ui, sans-serif" });
      const u = new uPlot({
        width: Math.max(200, figure.clientWidth), height,
        cursor: { sync: { key: sync.key }, drag: { x: true, y: false } },
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
        axes: [{ ...axis(), space: 70, values: (_, at, __, ___, step) => at.map(t => clock(t, step)) }, { ...axis(), size: 56, values: (_, vs) => vs.map(short) }],
        series: [
          { label: "at", value: (_, v) => (v === null ? "" : clock(v, 1)) },
          ...plot.lines.map(line => ({
            label: line.label, width: 1.5, spanGaps: false, points: { show: false },
            stroke: () => color(line.color), fill: line.fill ? () => color(line.color) + "33" : undefined,
            value: (_, v) => (v === null || v === undefined ? "–" : short(v)),
          })),
        ],
        hooks: { drawClear: [u => behind(u, story)] },
      }, data(plot, story), figure);
      return { plot, u, figure };
    });
    const draw = () => drawn.forEach(d => d.u.setData(data(d.plot, story)));
    const fit = () => drawn.forEach(d => d.u.setSize({ width: Math.max(200, d.figure.clientWidth), height }));
    new ResizeObserver(fit).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    addEventListener("beforeprint", () => { document.documentElement.classList.add("printed"); fit(); draw(); });
    addEventListener("afterprint", () => { document.documentElement.classList.remove("printed"); fit(); draw(); });
    return { draw };
  }

  const data = (plot, story) => [story.times, ...plot.lines.map(line => story.columns[line.field])];

  return { Story, mount };
})();
