# The password comes from Terraform's environment (MYSQL_PWD): a variable would be in the plan, and a sensitive one hides the output.
variable "port" {
  type = number
}

resource "terraform_data" "shop" {
  triggers_replace = [for name in sort(fileset(path.module, "schema/*.sql")) : filesha256(name)]

  provisioner "local-exec" {
    command = "exec midstream run --host=127.0.0.1 --port=${var.port} --user=app --database=shop --to=schema/ --wait-for-other=2m"
  }
}
