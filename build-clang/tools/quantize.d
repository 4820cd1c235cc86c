build-clang/tools/quantize.o: tools/quantize.c tools/quantize.h \
  ref/base/num/status.h ref/base/format/safetensors.h \
  ref/base/num/dtype.h ref/base/num/sha256.h tools/options.h \
  tools/staging.h tools/tool.h

tools/quantize.h:

ref/base/num/status.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/num/sha256.h:

tools/options.h:

tools/staging.h:

tools/tool.h:
