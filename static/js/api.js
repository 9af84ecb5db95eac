// The API's page: Swagger UI over our own document. Writes carry the session's CSRF token.
"use strict";
{
  const place = document.getElementById("swagger-ui");
  const settings = JSON.parse(place.dataset.settings);
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const shade = () => root.classList.toggle("dark-mode", (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark");
  shade();
  system.addEventListener("change", shade);
  new MutationObserver(shade).observe(root, { attributeFilter: ["data-theme"] });

  const own = location.origin + "/";
  window.SwaggerUIBundle({
    ...settings,
    domNode: place,
    presets: [window.SwaggerUIBundle.presets.apis],
    supportedSubmitMethods: ["get", "post"],
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    requestInterceptor(request) {
      const ours = new URL(request.url, own).href.startsWith(own);
      if (ours && request.method === "POST") request.headers["X-CSRFToken"] = place.dataset.csrf;
      return request;
    },
  });
}
