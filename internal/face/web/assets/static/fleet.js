// The script of the pages about many servers: it reads their part again, and asks before a request. Texts are set as text; only the part
// from the server is set as HTML.
(() => {
  "use strict";
  const $ = id => document.getElementById(id);
  const say = (place, text, mood = "") => {
    if (!place) return;
    place.hidden = !text;
    place.className = "notice " + mood;
    if (place.textContent !== text) place.textContent = text;
  };

  const part = $("part");
  let last = "", timer;
  const look = async () => {
    clearTimeout(timer);
    try {
      const answer = await fetch(part.dataset.part + location.search, { signal: AbortSignal.timeout?.(20000) });
      if (answer.status === 401) throw Object.assign(new Error(), { ended: true });
      if (!answer.ok) throw new Error();
      const text = await answer.text();
      say($("connection"), "");
      if (text !== last && !$("question")?.open) {
        const focused = document.activeElement, within = part.contains(focused), opened = [...part.querySelectorAll("details[open] summary")].map(s => s.textContent);
        const scrolled = [...part.querySelectorAll(".scrolls")].map(e => e.scrollLeft);
        const label = within && { tag: focused.tagName, id: focused.id, label: focused.getAttribute("aria-label"), href: focused.getAttribute("href"), text: focused.textContent };
        part.innerHTML = text;
        for (const summary of part.querySelectorAll("summary")) if (opened.includes(summary.textContent)) summary.parentElement.open = true;
        part.querySelectorAll(".scrolls").forEach((e, i) => { e.scrollLeft = scrolled[i] ?? 0; });
        if (label) ([...part.querySelectorAll(label.tag)].find(e => label.id ? e.id === label.id : e.getAttribute("aria-label") === label.label &&
          e.getAttribute("href") === label.href && (label.label || e.textContent === label.text)) ?? $("named")).focus();
        if ($("state")) document.title = $("named").textContent + ": " + $("state").textContent;
        last = text;
      }
    } catch (problem) {
      say($("connection"), problem.ended ? "Your session has ended. This page is no longer updated." : "Cannot reach Midstream. This page may be out of date. Trying again.", "warn");
    }
    timer = setTimeout(look, part.querySelectorAll(".fleet li").length > 200 ? 5000 : 2000);
  };
  if (part) timer = setTimeout(look, 2000);

  // A button asks its question, and sends its request if the answer is yes.
  let asking = null;
  document.addEventListener("click", event => {
    const button = event.target.closest?.("[data-ask]");
    if (!button) return;
    asking = { ...button.dataset };
    $("asked").textContent = asking.question;
    $("about").textContent = asking.about ?? "";
    $("about").hidden = !asking.about;
    $("yes").textContent = asking.yes;
    $("reason-row").hidden = !asking.reason;
    $("reason").value = "";
    $("reason").required = asking.reason === "required";
    document.querySelector("label[for=reason]").textContent = asking.reason === "required" ? "Reason" : "Reason (optional)";
    $("question").returnValue = "no";
    $("question").showModal();
  });
  $("question")?.querySelector("[value=no]").setAttribute("formnovalidate", "");
  $("question")?.addEventListener("close", async () => {
    if ($("question").returnValue !== "yes" || !asking) return;
    const [method, path] = [asking.ask.slice(0, asking.ask.indexOf(" ")), asking.ask.slice(asking.ask.indexOf(" ") + 1)];
    const body = {};
    for (const name of ["server", "wave"]) if (asking[name]) body[name] = asking[name];
    if ($("reason").value.trim()) body.reason = $("reason").value.trim();
    asking = null;
    say($("said"), "Sent. Waiting for the answer.");
    try {
      const answer = await fetch(path, { method, headers: method === "POST" ? { "Content-Type": "application/json" } : {}, body: method === "POST" ? JSON.stringify(body) : undefined });
      const text = await answer.json();
      if (answer.ok) say($("said"), "");
      else say($("said"), [text.title, text.detail, text.next && "Next: " + text.next].filter(Boolean).join("\n"), "bad");
    } catch {
      say($("said"), "Cannot reach Midstream, so it is not known whether the request arrived. Check the state.", "bad");
    }
    look();
  });
})();
