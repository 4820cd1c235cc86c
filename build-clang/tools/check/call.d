build-clang/tools/check/call.o: tools/check/call.c tools/check/call.h \
  ref/base/case/case.h ref/base/case/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/num/real.h \
  ref/base/num/status.h tools/check/inputs.h ref/base/num/convert.h

tools/check/call.h:

ref/base/case/case.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

tools/check/inputs.h:

ref/base/num/convert.h:
