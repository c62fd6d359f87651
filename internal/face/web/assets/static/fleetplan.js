// The script of the page that plans a change for many servers. It sets texts as text.
(() => {
  "use strict";
  const $ = id => document.getElementById(id);
  const make = (tag, text = "", name = "") => {
    const e = document.createElement(tag);
    e.textContent = visible(text);
    if (name) e.className = name;
    return e;
  };
  // visible is the rule of internal/mysql/escape: what cannot be seen, or changes how other letters are seen, becomes \uXXXX.
  const visible = text => String(text ?? "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, c => "\n\t\u200c\u200d".includes(c) ? c
    : [...Array(c.length).keys()].map(i => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));
  const say = (text, mood = "") => {
    $("said").hidden = !text;
    $("said").className = "notice " + mood;
    $("said").textContent = visible(text);
  };
  const mood = { fits: "good", done: "good", unfit: "bad", refused: "bad", wrong: "bad", failed: "warn" };
  const time = ms => ms < 1000 ? "less than 1 s" : Midstream.age(ms);

  // names shows some names, and all of them on demand.
  const names = all => {
    if (all.length <= 12) return make("span", all.join(", "));
    const box = make("details"), head = make("summary", all.slice(0, 6).join(", ") + " and " + (all.length - 6) + " more");
    box.append(head, make("p", all.join(", ")));
    return box;
  };

  const show = plan => {
    const bad = plan.groups.filter(g => !["fits", "done"].includes(g.outcome)).reduce((n, g) => n + g.servers.length, 0);
    const drifted = plan.allow_drift ? 0 : plan.drift.reduce((n, d) => n + d.servers.length, 0);
    $("verdict").textContent = bad + drifted === 0 ? "OK to run on " + plan.servers + (plan.servers === 1 ? " server" : " servers")
      : "Not yet: of " + plan.servers + " servers, " + [bad && bad + " cannot be changed", drifted && drifted + " with another definition"].filter(Boolean).join(", ");
    $("groups").replaceChildren(...plan.groups.map(g => {
      const row = make("tr"), state = make("td"), why = make("td", "", "why"), of = make("td");
      state.append(make("span", g.outcome, "state " + (mood[g.outcome] ?? "warn")));
      why.append(make("strong", g.outcome === "fits" ? g.method + ", " + time(g.least_ms) + (time(g.most_ms) !== time(g.least_ms) ? " to " + time(g.most_ms) : "") : g.reason));
      for (const reason of g.reasons ?? []) why.append(make("br"), make("span", (reason.text ?? reason.reason ?? "") + (reason.servers ? " (" + reason.servers + ")" : ""), "quiet"));
      if (g.next) why.append(make("br"), make("span", "Next: " + g.next, "quiet"));
      of.append(make("strong", String(g.servers.length)), document.createTextNode(" "), names(g.servers));
      row.append(state, why, of);
      return row;
    }));
    $("drift").replaceChildren(...plan.drift.length ? [make("h2", "Definitions that differ from the most common one (" + plan.common_definition.servers + " servers)")] : [],
      ...plan.drift.map(d => {
        const box = make("div"), who = make("p");
        who.append(make("strong", String(d.servers.length)), document.createTextNode(" "), names(d.servers));
        box.append(who, make("pre", [...d.lacks.map(l => "lacks " + l), ...d.has.map(l => "has   " + l)].join("\n")));
        box.lastChild.tabIndex = 0;
        return box;
      }));
    $("warnings").replaceChildren(...plan.warnings.map(w => make("li", w.what + " (" + w.servers.length + ": " + w.servers.slice(0, 6).join(", ") + ")")),
      ...plan.notes.map(text => make("li", text)), ...plan.same_table.map(all => make("li", "These are the same table: " + all.join(", "))));
    $("warnings").hidden = $("warnings").children.length === 0;
    $("answer").hidden = false;
  };

  $("plan-fleet").addEventListener("submit", async event => {
    event.preventDefault();
    const question = { selector: $("selector").value.trim(), statement: $("statement").value };
    for (const box of ["check", "skip_applied", "allow_drift"]) if ($(box).checked) question[box] = true;
    $("ask-plan").disabled = true;
    $("answer").hidden = true;
    say("Asking the servers. This can take some time.");
    try {
      const answer = await fetch("/v1/fleet/plan", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
      const what = await answer.json();
      if (answer.ok) {
        say("");
        show(what);
      } else say([what.title, what.detail, what.next && "Next: " + what.next].filter(Boolean).join("\n"), "bad");
    } catch {
      say("Cannot reach Midstream.", "bad");
    }
    $("ask-plan").disabled = false;
  });
  window.Midstream ??= { age: ms => { const s = Math.round(ms / 1000); return s < 60 ? s + " s" : s < 3600 ? Math.floor(s / 60) + " min" : Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min"; } };
})();
