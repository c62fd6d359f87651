// Who is logged in, and what they may do. Elements with data-role need that role: without it they are hidden. The server refuses the
// request in any case.
(() => {
  "use strict";
  const roleOf = { "submit": "submit", "again": "submit", "undo": "submit", "controls": "operate" };

  const show = me => {
    const place = document.getElementById("me");
    if (place) place.textContent = me.name + (me.roles.length < 5 ? " (" + me.roles.join(", ") + ")" : "");
    document.documentElement.dataset.lacks = ["see", "plan", "submit", "approve", "operate"].filter(role => !me.roles.includes(role) && !(role === "plan" && me.roles.includes("submit"))).join(" ");
    for (const [id, role] of Object.entries(roleOf)) document.getElementById(id)?.setAttribute("data-role", role);
    if (me.name) for (const part of document.querySelectorAll("#by, label[for=by]")) part.hidden = true; // the login has the name
  };

  // decide approves or rejects the change of the page.
  const decide = async (command, body) => {
    const said = document.getElementById("decided");
    said.hidden = false;
    try {
      const answer = await fetch(document.getElementById("change").dataset.api + "/" + command, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      const text = await answer.json();
      if (answer.ok) location.reload();
      else said.textContent = [text.title, text.detail, text.next && "Next: " + text.next].filter(Boolean).join("\n");
    } catch {
      said.textContent = "Cannot reach Midstream.";
    }
  };
  addEventListener("DOMContentLoaded", () => {
    document.querySelector("[data-decide]")?.addEventListener("click", () => decide("approve", {}));
    document.getElementById("reject")?.addEventListener("submit", event => {
      event.preventDefault();
      decide("reject", { reason: document.getElementById("reason").value });
    });
  });

  addEventListener("DOMContentLoaded", async () => {
    if (!document.getElementById("me")) return; // the login
    try {
      const answer = await fetch("/v1/me");
      if (answer.ok) show(await answer.json());
    } catch { /* the page shows that the server is away */ }
  });
})();
