// The token stands behind `#`, where no server and no log sees it. It goes into a form and out of the address; it is kept for
// this tab and this port alone.
const token = location.hash.slice(1) || sessionStorage.getItem("token");
if (token) {
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", "/");
  const form = document.createElement("form");
  form.method = "post";
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = "token";
  field.value = token;
  form.append(field);
  document.body.append(form);
  form.submit();
}
