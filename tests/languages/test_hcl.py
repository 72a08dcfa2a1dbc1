"""HCL: blocks under the addresses of Terraform, modules as folders."""

from __future__ import annotations

from tests.languages.samples import Sample, check
from tests.languages.trees import leads

SAMPLES = {
    "terraform": Sample(
        source="""
# words
terraform {
  required_version = ">= 1.0"
}
variable "region" {
  type = string
}
locals {
  name = "x"
  tags = { a = 1 }
}
resource "aws_instance" "web" {
  ami = var.ami
  network { id = 1 }
}
data "aws_ami" "ubuntu" {
}
module "vpc" {
  source = "./modules/vpc"
}
output "ip" { value = aws_instance.web.ip }
provider "aws" {}
region = "eu"
""",
        definitions="""
variable var.region
variable local.name
variable local.tags
resource aws_instance.web
resource data.aws_ami.ubuntu
module module.vpc
variable output.ip
resource provider.aws
variable region
""",
        signatures={
            "web": 'resource "aws_instance" "web"',
            "ubuntu": 'data "aws_ami" "ubuntu"',
            "tags": "tags",
        },
        imports=[
            (
                'module "vpc" {\n  source = "./modules/vpc"\n}\n'
                'module "x" {\n  source = "./${var.x}"\n}\nlocals { source = "./y" }\n',
                [("./modules/vpc", ("vpc",), "import")],
            ),
        ],
    ),
}


def test_definitions_and_imports() -> None:
    check(SAMPLES)


def test_a_module_is_the_files_of_its_folder() -> None:
    files = {
        "main.tf": 'module "a" {\n  source = "./modules/a"\n}\nmodule "b" {\n  source = "hashicorp/consul/aws"\n}\n',
        "modules/a/main.tf": "",
        "modules/a/variables.tf": "",
        "modules/a/x.tfvars": "",
        "modules/a/deeper/main.tf": 'module "up" {\n  source = "../"\n}\nmodule "out" {\n  source = "../../../../x"\n}\n',
    }
    assert leads(files, "main.tf") == {"modules/a/main.tf": 0.5, "modules/a/variables.tf": 0.5}
    assert leads(files, "modules/a/deeper/main.tf") == {"modules/a/main.tf": 0.5, "modules/a/variables.tf": 0.5}
