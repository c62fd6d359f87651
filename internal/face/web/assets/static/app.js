// The script of Midstream's pages. It puts texts from the server in their places. It sets texts as text, and sets only parts of pages from the
// server (html) as HTML. The policy of the page lets no script in them run.
(() => {
  "use strict";
  const $ = id => document.getElementById(id);

  // visible is the rule of internal/mysql/escape: what cannot be seen, or changes how other letters are seen, becomes \uXXXX.
  const visible = text => String(text ?? "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, c => "\n\t\u200c\u200d".includes(c) ? c
    : [...Array(c.length).keys()].map(i => "\\u" + c.charCodeAt(i).toString(16).padStart(4, "0")).join(""));

  // put sets the text of a place, if it has another one.
  const put = (place, text) => {
    text = visible(text);
    if (place.textContent !== text) place.textContent = text;
  };

  // say shows a text in a place, or hides the place.
  const say = (place, text, mood = "") => {
    place.hidden = !text;
    place.className = "notice " + mood;
    put(place, text);
  };

  // complain shows an error. If the session has ended, it adds a link to the login in another tab, so that typed text stays.
  const complain = (place, problem, mood = "bad") => {
    if (problem.ended && !place.hidden && place.firstChild?.textContent === visible(problem.message)) return; // it is shown already
    say(place, problem.message, mood);
    if (!problem.ended) return;
    const link = document.createElement("a");
    link.href = "/login";
    link.target = "_blank";
    link.textContent = "Log in";
    place.append(" ", link);
  };

  // ask sends a request. A refusal is an Error with the reason and the next step.
  const ask = async (method, path, body, signal) => {
    let response;
    try {
      response = await fetch(path, { method, headers: body === undefined ? {} : { "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body), signal });
    } catch {
      throw new Error(method === "GET" ? "Cannot reach Midstream." : "Cannot reach Midstream, so it is not known whether the request arrived. Check the state of the change.");
    }
    if (response.status === 401) throw Object.assign(new Error("Your session has ended. Nothing was sent."), { ended: true });
    if (response.headers.get("Content-Type")?.startsWith("text/html")) {
      const text = await response.text();
      if (!response.ok) throw new Error("The server answered " + response.status + ".");
      return text;
    }
    const answer = await response.json();
    if (!response.ok) throw new Error([answer.title, answer.detail, answer.next && "Next: " + answer.next].filter(Boolean).join("\n"));
    return answer;
  };

  // bound limits a request that is repeated, because a dead connection reports nothing.
  const bound = () => AbortSignal.timeout?.(20000);

  // busy keeps a button from being pressed again before it is answered.
  const busy = async (button, do_) => {
    const focused = document.activeElement === button;
    button.disabled = true;
    try {
      await do_();
    } finally {
      button.disabled = false;
      if (focused && document.activeElement === document.body) button.focus(); // the user has not moved on
    }
  };

  // Ages count on. The clock is the server's: another machine's may be wrong.
  let ahead = 0; // of the server
  const hearsClock = at => { if (at) ahead = new Date(at).getTime() - Date.now(); };
  const age = ms => { // as internal/face/humanize.Age
    const s = Math.max(0, Math.floor(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60);
    return s < 60 ? s + " s" : s < 600 ? m + " min " + s % 60 + " s" : s < 3600 ? m + " min" : h < 48 ? h + " h " + m % 60 + " min" : Math.floor(h / 24) + " days";
  };
  const count = place => put(place, age(Date.now() + ahead - new Date(place.dataset.since).getTime()));
  const since = at => {
    const place = document.createElement("span");
    place.className = "age";
    place.dataset.since = at;
    count(place);
    return place;
  };
  setInterval(() => document.querySelectorAll("[data-since]").forEach(count), 1000);
  window.Midstream = { age };

  // tied keeps numbers and their units on one line.
  const tied = text => text.replace(/(\d) (?=(?:[mµ]?s|min|h|days?|[kMGT]?B|%|rows|keys?)(?![\w-]))/g, "$1\u00a0");

  // lead shows a headline, with ages that count on.
  const lead = (place, parts) => {
    const key = JSON.stringify(parts);
    if (place.dataset.key === key) return;
    place.dataset.key = key;
    place.replaceChildren(...parts.map(part => part.since ? since(part.since) : tied(visible(part.text))));
  };

  // A command that asks the service has its URL, unless the service is where commands look for it.
  const service = location.origin === "http://127.0.0.1:8385" ? " " : " --service=" + location.origin + " ";
  for (const place of document.querySelectorAll("[data-service]")) put(place, place.textContent.replace("  ", service));
  const shell = text => /^[\w.,:=%@/+-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";

  // textsIn are the texts of people: not those of commands and statements.
  const textsIn = root => {
    const texts = [], walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("pre, code, button")) texts.push(walker.currentNode);
    return texts;
  };

  // copies makes a button copy the text before it. A browser gives pages the clipboard only by HTTPS or on its own machine: elsewhere the
  // button selects the text.
  const copies = button => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const from = button.previousElementSibling;
      let done = "Copied";
      try {
        await navigator.clipboard.writeText(from.textContent);
      } catch {
        getSelection().selectAllChildren(from);
        done = "Selected";
      }
      put(button, done);
      setTimeout(() => put(button, "Copy"), 2000);
    });
  };
  document.querySelectorAll("[data-copies]").forEach(copies);

  // commandsIn gives each command in a text a button that copies it. A command has a flag or a table, so "midstream printed" is none.
  const commandsIn = (root, id = "") => {
    const words = ["-{1,2}[a-z-]+(?:=(?:'[^']*'|\"[^\"]*\"|[^\\s;'\"]*[^\\s;,.)'\"]))?", "'[^']*'", "\"[^\"]*\"", "[^\\s;,'\"]+\\.[^\\s;,.)'\"]+", id.replace(/[^\w-]/g, "\\$&") + "(?![\\w-])"];
    const command = new RegExp("\\bmidstream (?:fleet )?[a-z]+(?: +(?:" + words.filter((word, i) => i < 4 || id).join("|") + "))+", "g");
    for (const node of textsIn(root)) {
      const parts = [];
      let end = 0;
      for (const found of node.data.matchAll(command)) {
        const code = document.createElement("code"), button = document.createElement("button");
        code.textContent = found[0].replace("  ", service);
        button.className = "plain copy screen-only";
        button.textContent = "Copy";
        parts.push(node.data.slice(end, found.index), code, button);
        copies(button);
        end = found.index + found[0].length;
      }
      if (end > 0) node.replaceWith(...parts, node.data.slice(end));
    }
  };

  if ($("changes")) listPage();
  if ($("submit")) formPage();
  if ($("change")) changePage();
  for (const id of ["preview", "withdraw"]) if ($(id)) $(id).disabled = false; // their handlers are set

  function listPage() {
    const look = async () => {
      try {
        const text = await ask("GET", "/parts/changes" + location.search, undefined, bound());
        say($("connection"), "");
        const still = text.replace(/ data-at="[^"]*"/, "").replace(/(data-since="[^"]*">)[^<]*/g, "$1"); // without what counts
        if (still !== look.last) {
          const focus = document.activeElement, id = focus?.id, href = $("changes").contains(focus) && focus.getAttribute("href");
          $("changes").innerHTML = text;
          if (id?.startsWith("to-")) $(id)?.focus();
          else if (href) [...$("changes").querySelectorAll("a")].find(link => link.getAttribute("href") === href)?.focus();
        }
        look.last = still;
        hearsClock(/data-at="([^"]*)"/.exec(text)?.[1]);
      } catch (problem) {
        if (problem.ended) complain($("connection"), { ended: true, message: "Your session has ended. The list is no longer updated." }, "warn");
        else say($("connection"), "Cannot reach Midstream. The list may be out of date. Trying again.", "warn");
      }
      setTimeout(look, 2000);
    };
    hearsClock($("changes").querySelector("[data-at]")?.dataset.at);
    setTimeout(look, 2000);
    $("of")?.addEventListener("change", () => $("filter").requestSubmit());
  }

  function formPage() {
    const bothJoins = JSON.parse($("submit").dataset.joins);
    const asked = () => {
      const together = $("together").checked, joins = bothJoins[together ? 1 : 0];
      const options = {}, lines = [];
      for (const field of document.querySelectorAll("[data-option]")) {
        const value = field.type === "checkbox" ? field.checked ? "true" : "" : field.value.trim();
        if (value) options[field.dataset.option] = value, lines.push(field.dataset.option + "=" + value);
      }
      for (const line of $("options").value.split("\n").map(l => l.trim().replace(/^--/, "")).filter(Boolean)) {
        const at = line.indexOf("=");
        const name = at < 0 ? line : line.slice(0, at).trim(), value = at < 0 ? "true" : line.slice(at + 1).trim();
        lines.push(name + "=" + value);
        options[name] = joins[name] && options[name] ? options[name] + joins[name] + value : value;
      }
      asked.lines = lines;
      return { server: $("server").value, statement: $("statement").value, ...together && { together }, options };
    };
    const after = () => $("after").value.split(",").map(id => id.trim()).filter(Boolean);
    // begins is what the plan does not depend on.
    const begins = () => ({
      after: after(), ...$("not-before").value && { not_before: new Date($("not-before").value).toISOString() },
      ...$("begin-window").value.trim() && { window: $("begin-window").value.trim() }, ...Number($("priority").value) && { priority: Number($("priority").value) },
    });
    // command is what submits the same change on a command line.
    const command = () => {
      const it = asked(), when = begins();
      const words = ["--server=" + it.server, it.together && "--together", ...asked.lines.map(line => "--option=" + line), ...when.after.map(id => "--after=" + id),
        when.not_before && "--not-before=" + when.not_before, when.window && "--window=" + when.window, when.priority && "--priority=" + when.priority, it.statement.trim() || "ALTER TABLE ..."];
      return "midstream submit" + service + words.filter(Boolean).map(shell).join(" ");
    };
    let shown = "", anyway = ""; // the change whose plan was shown, and the one that could not begin now
    const change = () => {
      const now = JSON.stringify(asked());
      $("send").disabled = shown !== now && anyway !== now;
      put($("send"), anyway === now ? "Submit anyway" : "Submit");
      $("send").className = anyway === now ? "danger" : "main";
      $("first").hidden = !$("send").disabled;
      put($("as-command"), command());
    };
    change();
    $("submit").addEventListener("input", change);
    $("preview").addEventListener("click", () => {
      if (!$("submit").reportValidity()) return;
      const question = asked();
      say($("said"), "Asking the server. This can take some seconds.");
      $("plan").hidden = true;
      busy($("preview"), async () => {
        try {
          const answer = await ask("POST", "/v1/plans", question);
          put($("plan"), answer.text);
          $("plan").hidden = false;
          $("plan").scrollIntoView?.({ block: "nearest" });
          const fine = answer.result.exit_code === 0;
          if (fine && answer.result.needed) say($("said"), "Foreign keys need other columns to change as well. The plan below is the one of the complete statements. Submit those.", "warn");
          else say($("said"), fine ? "This is the plan. Nothing was changed." : "Cannot run this change now. The reason is below.", fine ? "" : "warn");
          shown = fine ? JSON.stringify(question) : "";
          anyway = fine ? "" : JSON.stringify(question);
        } catch (problem) {
          complain($("said"), problem);
        }
        change();
      });
    });
    $("submit").addEventListener("submit", event => {
      event.preventDefault();
      busy($("send"), async () => {
        try {
          const made = await ask("POST", "/v1/changes", { id: $("submit").dataset.id, ...asked(), ...begins(), by: $("by").value });
          location.assign("/changes/" + encodeURIComponent(made.id));
        } catch (problem) {
          complain($("said"), problem);
        }
      }).then(change); // the user may have edited it
    });
  }

  function changePage() {
    const page = $("change"), api = page.dataset.api, together = page.dataset.together === "true";
    const story = new MidstreamPlots.Story();
    let plots = null, drawing = false, over = false;

    const draw = () => {
      if (drawing || story.times.length < 2) return;
      drawing = true;
      requestAnimationFrame(() => {
        drawing = false;
        $("drawn").hidden = false;
        if (plots) plots.draw();
        else plots = MidstreamPlots.mount($("plots"), story);
      });
    };

    // tellState shows a state where it has changed: it is read aloud.
    const tellState = (text, mood) => {
      if ($("state").textContent === visible(text)) return;
      put($("state"), text);
      $("state").className = "state " + mood;
      document.title = document.title.replace(/: [^:]*$/, () => ": " + visible(text));
    };

    const fill = (list, texts, make) => {
      const key = JSON.stringify(texts);
      if (list.dataset.key === key) return;
      list.dataset.key = key;
      list.replaceChildren(...texts.map(make));
    };

    const line = record => {
      if (!record.told || record.event === "progress") return;
      const item = document.createElement("li"), time = document.createElement("time"), kind = document.createElement("span"), text = document.createElement("div");
      time.dateTime = record.at;
      time.textContent = record.at.slice(11, 23);
      put(kind, record.event.replaceAll("_", " "));
      put(text, record.told);
      item.append(time, kind, text);
      $("none").hidden = true;
      $("events").prepend(item);
      while ($("events").children.length > 1000) $("events").lastChild.remove();
    };

    // planOf is the place of a table's plan.
    const planOf = member => {
      const there = [...$("plan").children].find(place => place.dataset.member === member);
      if (there) return there;
      const place = document.createElement("div"), name = document.createElement("h2");
      place.dataset.member = member;
      if (member) {
        put(name, member);
        $("plan").append(name);
      }
      $("plan").append(place);
      return place;
    };

    const take = record => {
      if (record.event === "run") {
        $("now").hidden = over;
        $("controls").hidden = over;
        $("files").hidden = false;
        if ($("waiting")) $("waiting").hidden = true;
        return;
      }
      if (record.event === "plan") planOf(record.member || "").innerHTML = record.html || "";
      line(record);
      if (story.take(record)) draw();
    };

    // swapFocus shows one of two buttons. The focus goes to the other one, so that the keyboard keeps its place.
    const swapFocus = (one, other, second) => {
      const away = second ? one : other, there = second ? other : one;
      const focused = document.activeElement === away;
      there.hidden = false;
      away.hidden = true;
      if (focused) there.focus();
    };

    const steps = list => fill($("phases"), list, step => {
      const item = document.createElement("li");
      item.className = step.state;
      put(item, step.name);
      if (step.state === "now") item.setAttribute("aria-current", "step");
      return item;
    });

    // blocks lists the sessions that block the cut-over. A kill is asked for twice: the question shows whom it hits.
    const blocks = (list, remedy) => {
      $("blocking").hidden = list.length === 0;
      put($("remedy"), list.some(session => session.snapshot) ? remedy : "Queries are not waiting.");
      fill($("blocking-list"), list, session => {
        const item = document.createElement("li"), head = document.createElement("strong"), what = document.createElement("div"), code = document.createElement("code");
        put(head, "Connection " + session.connection + ", " + session.who);
        what.append(visible(session.command + " for "), since(session.since), visible(", " + session.why));
        put(code, session.statement);
        item.append(head, what);
        if (session.statement) item.append(code);
        if (session.spared) {
          const spared = document.createElement("div");
          spared.className = "quiet";
          put(spared, "Never killed: " + session.spared + ".");
          item.append(spared);
        } else {
          const kill = document.createElement("button");
          kill.className = "danger screen-only";
          kill.dataset.role = "operate";
          put(kill, "Kill…");
          kill.setAttribute("aria-label", "Kill connection " + session.connection + "…");
          kill.addEventListener("click", () => askKill(session));
          item.append(kill);
        }
        return item;
      });
    };
    let victim = null;
    const askKill = session => {
      victim = session;
      put($("kill-asked"), "Kill connection " + session.connection + "?");
      put($("kill-yes"), "Kill connection " + session.connection);
      put($("kill-user"), session.user);
      put($("kill-host"), session.host);
      $("kill-age").replaceChildren(visible(session.command + " for "), since(session.since));
      put($("kill-statement"), session.statement || "none known");
      $("kill-question").returnValue = "no";
      $("kill-question").showModal();
    };
    $("kill-question").addEventListener("close", () => {
      if ($("kill-question").returnValue !== "yes" || !victim) return;
      const shown = Date.now() + ahead - new Date(victim.since).getTime();
      tell($("kill-yes"), "kill", { connection_id: victim.connection, user: victim.user, host: victim.host, age_ms: Math.max(0, Math.floor(shown)) });
    });
    $("kills").addEventListener("submit", event => {
      event.preventDefault();
      tell($("kills").querySelector("button"), "set", { settings: { "kill-blockers-after": $("kill-after").value } });
    });

    const stand = now => {
      if (over) return;
      $("now").hidden = $("controls").hidden = false;
      tellState(now.head.word, now.mood);
      lead($("head"), now.head.parts);
      const spoken = ["blocked", "paused", "stopped", "running"].includes(now.state) || now.waits.length > 0; // the headline has it
      put($("why"), [spoken ? "" : now.state === "held" && now.why.startsWith("until ") ? "Waits " + now.why + "." : now.why, now.held && now.state !== "held" ? "Will wait before the cut-over " + (now.held.startsWith("until ") ? now.held : ": " + now.held) + "." : ""].filter(Boolean).join("\n"));
      if (now.phase) put($("phase"), now.phase);
      steps(now.steps ?? []);
      blocks(now.blockers ?? [], now.remedy);
      const stands = now.state === "paused" || now.state === "stopped", held = Boolean(now.held);
      swapFocus($("controls").querySelector("[data-tell=pause]"), $("controls").querySelector("[data-tell=resume]"), stands);
      swapFocus($("controls").querySelector("[data-tell=hold]"), $("cut"), held);
      put($("text"), now.tiles.length ? "" : now.text); // the tiles show it
      $("text").hidden = now.tiles.length > 0;
      $("bar").hidden = now.fraction === null;
      if (now.fraction !== null) $("bar").value = now.fraction;
      fill($("tiles"), now.tiles, tile => {
        const box = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
        put(name, tile.name);
        put(value, tied(tile.value));
        box.append(name, value);
        return box;
      });
      if (together) fill($("member-rows"), now.tables, member => {
        const row = document.createElement("tr");
        for (const text of [member.name, member.state, member.phase, member.rows, member.percent]) {
          const cell = document.createElement("td");
          put(cell, text);
          row.append(cell);
        }
        row.title = member.why;
        return row;
      });
      fill($("waits"), now.waits, text => {
        const item = document.createElement("li");
        put(item, text);
        return item;
      });
      if (document.activeElement !== $("share") && now.share && now.share !== stand.share) {
        $("share").value = parseFloat(now.share) || 0;
        stand.share = now.share;
      }
      if (now.progress && story.take(now.progress)) draw();
    };

    if ($("next")) commandsIn($("next"), page.dataset.id);
    const source = new EventSource(api + "/events");
    let heard = Date.now();
    const hears = (name, what) => source.addEventListener(name, event => {
      heard = Date.now();
      what(event);
    });
    hears("open", () => say($("connection"), ""));
    hears("message", event => take(JSON.parse(event.data)));
    for (const name of ["clock", "heartbeat"]) hears(name, event => hearsClock(JSON.parse(event.data).at));
    hears("status", event => stand(JSON.parse(event.data)));
    hears("waiting", event => {
      const why = JSON.parse(event.data).why;
      put($("why"), why);
    });
    hears("end", event => {
      const end = JSON.parse(event.data);
      over = true;
      source.close();
      say($("connection"), "");
      if ($("controls").contains(document.activeElement)) $("named").focus();
      $("now").hidden = $("controls").hidden = true;
      if (end.state) {
        tellState(end.state, end.mood);
        lead($("head"), [{ text: end.head }]);
        $("why").textContent = "";
      }
      if (end.html) {
        $("ended").innerHTML = end.html;
        for (const text of textsIn($("ended"))) text.data = tied(text.data);
        commandsIn($("ended"), page.dataset.id);
        $("ended").hidden = false;
      }
      if (page.dataset.queue === "false") say($("connection"), "The run has ended, and this page is no longer updated. The run printed the path of its report.");
      else if (page.dataset.state === "waiting" || (page.dataset.state === "running" && !end.state)) location.reload(); // the queue knows more than the run
      else {
        watchUndo();
        offerAgain();
      }
      draw();
    });
    source.onerror = () => {
      if (over) return;
      say($("connection"), "Connection lost. This page may be out of date. Trying again.", "warn");
      if (source.readyState === EventSource.CLOSED) setTimeout(anew, 2000); // it was refused: the session may have ended
    };

    // anew opens the page again when the server answers.
    const anew = async () => {
      try {
        await ask("GET", api, undefined, bound());
        location.reload();
      } catch (problem) {
        if (problem.ended) location.assign("/login?to=" + encodeURIComponent(location.pathname));
        else setTimeout(anew, 10000);
      }
    };

    // A dead connection reports nothing, but a stream is never silent for longer than ten seconds.
    setInterval(() => {
      if (over || source.readyState !== EventSource.OPEN || Date.now() - heard < 25000) return;
      say($("connection"), "No data for " + Math.round((Date.now() - heard) / 1000) + " s. This page may be out of date. Trying again.", "warn");
      source.close();
      anew();
    }, 5000);

    const tell = (button, command, body) => busy(button, async () => {
      say($("said"), "Sent. Waiting for the answer.");
      try {
        say($("said"), (await ask("POST", api + "/" + command, body)).text);
      } catch (problem) {
        complain($("said"), problem);
      }
    });
    for (const button of document.querySelectorAll("[data-tell]")) {
      button.addEventListener("click", () => tell(button, button.dataset.tell, {}));
    }
    $("throttle").addEventListener("submit", event => {
      event.preventDefault();
      tell($("throttle").querySelector("button"), "throttle", { share: $("share").value + "%" });
    });
    $("cut").addEventListener("click", () => { $("cut-question").returnValue = "no"; $("cut-question").showModal(); });
    $("cut-question").addEventListener("close", () => {
      if ($("cut-question").returnValue === "yes") tell($("cut"), page.dataset.queue === "true" && $("state").textContent === "ready" ? "release" : "cutover", { now: $("waitless").checked });
    });

    // The settings are read when they are opened. Only those that the user has changed are sent. A field that is already shown stays,
    // with the focus and with what the user has typed since.
    const settings = async (sent = {}) => {
      try {
        const list = await ask("GET", api + "/settings");
        for (const setting of list) {
          const there = $("set-" + setting.name);
          if (there) {
            if (there.value === there.dataset.was || there.value === sent[setting.name]) there.value = setting.value;
            there.dataset.was = setting.value;
            continue;
          }
          const label = document.createElement("label"), help = document.createElement("small");
          const value = document.createElement(setting.kind === "bool" ? "select" : "input");
          value.id = "set-" + setting.name;
          value.name = setting.name;
          label.htmlFor = value.id;
          put(label, setting.name);
          if (setting.kind === "bool") for (const word of ["true", "false"]) value.add(new Option(word));
          else value.type = "text", value.autocomplete = "off", value.spellcheck = false;
          value.value = value.dataset.was = setting.value;
          help.id = "help-" + setting.name;
          value.setAttribute("aria-describedby", help.id);
          put(help, setting.help + (setting.range ? " (" + setting.range + ")" : ""));
          $("setting-list").append(label, value, help);
        }
      } catch (problem) {
        complain($("set-said"), problem);
      }
    };
    $("settings").addEventListener("toggle", () => { if ($("settings").open) settings(); });
    $("setting-form").addEventListener("submit", event => {
      event.preventDefault();
      const changed = {};
      for (const value of $("setting-list").querySelectorAll("[name]")) if (value.value !== value.dataset.was) changed[value.name] = value.value;
      if (Object.keys(changed).length === 0) return say($("set-said"), "You have changed no setting.");
      busy($("setting-form").querySelector("button"), async () => {
        try {
          say($("set-said"), (await ask("POST", api + "/set", { settings: changed })).text);
          await settings(changed);
        } catch (problem) {
          complain($("set-said"), problem);
        }
      });
    });
    $("abort").addEventListener("click", () => { $("question").returnValue = "no"; $("question").showModal(); });
    $("question").addEventListener("close", () => {
      const word = $("question").returnValue;
      if (word === "keep" || word === "remove") tell($("abort"), "abort", { keep: word === "keep" });
    });
    $("look").addEventListener("click", () => busy($("look"), async () => {
      try {
        $("blockers").innerHTML = await ask("GET", api.replace("/v1/", "/parts/") + "/blockers");
      } catch (problem) {
        put($("blockers"), problem.message);
      }
    }));
    $("journal")?.addEventListener("toggle", async () => {
      if (!$("journal").open) return;
      try {
        $("journal-list").innerHTML = await ask("GET", api.replace("/v1/", "/parts/") + "/audit");
      } catch (problem) {
        put($("journal-list"), problem.message);
      }
    });
    let watched = false; // the undo
    if (page.dataset.state === "done") watchUndo();

    // watchUndo shows how the change can be taken back, for as long as the page is open.
    function watchUndo() {
      if (!$("undo") || watched) return;
      watched = true;
      const stands = undo => {
        $("undo").hidden = false;
        const word = undo.redo ? "Redo" : "Undo";
        for (const place of [$("undo-name"), ...document.querySelectorAll(".undo-word")]) put(place, word);
        put($("undo-ask"), word + "…");
        put($("undo-text"), undo.text);
        put($("undo-keeps"), undo.gives);
        if (!look.busy) $("undo-ask").disabled = !["open", "unfit", "revoked", "stopped"].includes(undo.state);
        $("undo-by").hidden = !undo.by;
        if (undo.by) {
          $("undo-by").href = "/changes/" + encodeURIComponent(undo.by);
          put($("undo-by"), "Show change " + undo.by);
        }
        const parks = $("undo-park"), useless = ["native", "rename"].includes(undo.mode); // no row is left out then
        if (parks) {
          parks.closest("label").hidden = useless;
          if (useless) parks.checked = false;
        }
        if (!$("undo-question").open) fill($("undo-warnings"), undo.warnings, text => {
          const item = document.createElement("li");
          put(item, text);
          return item;
        });
        $("undo").dataset.state = undo.state;
      };
      const look = async () => {
        try {
          const change = await ask("GET", api, undefined, bound());
          if (change.undo) stands(change.undo);
          if (look.failed) say($("undo-said"), "");
          look.failed = false;
        } catch (problem) {
          look.failed = true;
          if (problem.ended) complain($("undo-said"), { ended: true, message: "Your session has ended. The state of the undo is no longer updated." }, "warn");
          else say($("undo-said"), "Cannot reach Midstream. The state of the undo may be out of date. Trying again.", "warn");
        }
        setTimeout(look, 3000);
      };
      look();
      $("undo-ask").addEventListener("click", () => { $("undo-question").returnValue = "no"; $("undo-question").showModal(); });
      $("undo-question").addEventListener("close", () => {
        if ($("undo-question").returnValue !== "yes") return;
        const options = {};
        if ($("undo").dataset.state === "revoked") options.cold = "true";
        for (const name of ["park", "merge"]) if ($("undo-" + name)?.checked) options[name] = "true";
        look.busy = true;
        busy($("undo-ask"), async () => {
          try {
            const made = await ask("POST", api + "/undo", { options, by: "a page" });
            location.assign("/changes/" + encodeURIComponent(made.id));
          } catch (problem) {
            complain($("undo-said"), problem);
          }
          look.busy = false;
        });
      });
    }

    // offerAgain shows the button that runs a change again, once the queue knows how it has ended.
    async function offerAgain() {
      if (!$("again")) return;
      let change;
      try {
        change = await ask("GET", api, undefined, bound());
      } catch {
        setTimeout(offerAgain, 3000);
        return;
      }
      if (change.state === "running" || change.state === "waiting") setTimeout(offerAgain, 1000);
      if (!change.again) return;
      $("again").hidden = $("again-ask").disabled = false;
      put($("again-how"), { resume: "The work is kept, and the run resumes.", restart: "The work was removed, and the run starts from the beginning.", begin: "" }[change.again]);
      const again = () => busy($("again-ask"), async () => {
        try {
          await ask("POST", api + "/again", { attempt: change.attempt + 1, by: "a page" });
          location.reload();
        } catch (problem) {
          complain($("again-said"), problem);
        }
      });
      $("again-ask").onclick = () => {
        $("again-question").returnValue = "no";
        if (change.again === "restart") $("again-question").showModal();
        else again();
      };
      $("again-question").onclose = () => { if ($("again-question").returnValue === "yes") again(); };
    }
    if (!["proposed", "waiting", "running", "done"].includes(page.dataset.state)) offerAgain();

    $("withdraw")?.addEventListener("click", () => busy($("withdraw"), async () => {
      try {
        await ask("DELETE", api);
        location.reload();
      } catch (problem) {
        put($("withdrawn"), problem.message);
      }
    }));
  }
})();
