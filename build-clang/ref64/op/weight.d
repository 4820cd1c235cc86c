build-clang/ref64/op/weight.o: ref/op/weight.c ref/op/weight.h \
  ref/op/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/case/op.h \
  ref/op/lanes.h ref/base/num/convert.h

ref/op/weight.h:

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/case/op.h:

ref/op/lanes.h:

ref/base/num/convert.h:
