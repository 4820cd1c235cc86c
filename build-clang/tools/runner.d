build-clang/tools/runner.o: tools/runner.c tools/runner.h \
  ref/base/config/profile.h ref/base/config/weights.h \
  ref/base/config/config.h ref/base/num/status.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/num/dtype.h ref/base/format/matrix.h ref/decode/generate.h \
  ref/decode/sample.h ref/base/trace/trace.h fast/engine.h \
  ref/model/ref.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/num/real.h

tools/runner.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/num/status.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/format/matrix.h:

ref/decode/generate.h:

ref/decode/sample.h:

ref/base/trace/trace.h:

fast/engine.h:

ref/model/ref.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/num/real.h:
