# A template: `python tools/fill_formula.py dist/lurcher-1.2.3.tar.gz URL HOMEPAGE` fills in what stands between @, and
# `brew update-python-resources lurcher` in a tap then adds the resources (docs/integrations.md).
class Lurcher < Formula
  include Language::Python::Virtualenv

  desc "Finds the code that answers a question, offline, with the reason for every hit"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "numpy"
  depends_on "python@3.13"

  def install
    ENV["LURCHER_BUILD_KERNEL"] = "require"
    virtualenv_install_with_resources
  end

  test do
    (testpath/"shop/basket.py").write <<~PYTHON
      def add_discount(total, percent):
          """Reduce a total by a discount."""
          return total * (100 - percent) / 100
    PYTHON
    assert_match "basket.py", shell_output("#{bin}/lurcher search 'how is a discount taken off' #{testpath}/shop")
    assert_match "native", shell_output("#{bin}/lurcher status #{testpath}/shop")
  end
end
